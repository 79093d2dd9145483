"""Clients of the ServeGen data: a law of arrivals and lengths, window by window, not requests.

A client is two files.  ``*-trace.csv`` has no header and six fields a window: start (s), rate (1/s), CV
of the gaps, family of the gaps (Gamma, Weibull, or nothing in an idle window), shape and scale (s).
``*-dataset.json`` has, for longer windows, tables of input and output tokens, each a text that writes a
Python dict from a token count to its probability.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fairq.errors import InputError
from fairq.servegen_lengths import LengthTable, read_lengths
from fairq.servegen_windows import Window, read_windows
from fairq.source import amount
from fairq.streams import open_uniforms
from fairq.textfile import as_path
from fairq.validation import finite_number
from fairq.workload import Workload

if TYPE_CHECKING:
    from os import PathLike

    from numpy.typing import NDArray

__all__ = ["Client", "dataset_beside", "describe_client", "read_client"]

_MOST = 10_000_000
"""Requests that a draw may be expected to have."""


@dataclass(frozen=True)
class Client:
    """One ServeGen client: `windows` of arrivals in order, `tables` of lengths in order.

    Make one with `read_client`.
    """

    path: str
    windows: tuple[Window, ...]
    tables: tuple[LengthTable, ...]

    @property
    def active(self) -> tuple[Window, ...]:
        """The windows that are not idle."""
        return tuple(window for window in self.windows if window.rate > 0)

    def between(self, start: float, end: float) -> Client:
        """The client in the windows that meet [start, end), the outer ones cut there.

        Raises:
            InputError: no window meets it.
        """
        start, end = finite_number("window.0", start, at_least=0), finite_number("window.1", end)
        first, last = self.windows[0].start, self.windows[-1].end
        kept = tuple(
            Window(max(w.start, start), min(w.end, end), w.rate, w.cv, w.family, w.shape, w.scale)
            for w in self.windows
            if w.start < end and w.end > start
        )
        if not kept or end <= start:
            raise InputError(f"window is [{start!r}, {end!r}]: it must be part of [{first!r}, {last!r}]")
        return Client(self.path, kept, self.tables)

    def expected(self) -> float:
        """Requests that are expected: the sum of rate times duration."""
        return float(sum(window.rate * (window.end - window.start) for window in self.windows))

    def mean_rate(self) -> float:
        """Expected requests per second from the first window's start to the last one's end, idle time too."""
        return self.expected() / (self.windows[-1].end - self.windows[0].start)

    def require_active(self) -> None:
        """Refuse a client that is never active: it would draw nothing, silently.

        Raises:
            InputError: no window has a rate > 0.
        """
        if not self.active:
            first, last = self.windows[0].start, self.windows[-1].end
            raise InputError(
                f"{self.path} has no active window from {first!r} to {last!r} s: at least one must have a "
                "rate > 0"
            )

    def arrivals(self, generator: np.random.Generator, most: int | None = None) -> NDArray[np.float64]:
        """Times of arrival in seconds of the client's own time, in order.

        Parameters:
            generator: where the gaps come from.
            most: how many to draw at most: the first of those that are drawn without it.

        Raises:
            InputError: no window is active, or more than 10,000,000 are expected and `most` is None.
        """
        self.require_active()
        if most is None and self.expected() > _MOST:
            raise InputError(
                f"{self.path} has {self.expected():,.0f} expected requests: there must be at most {_MOST:,} "
                "(window = [start, end] takes a part of the time, requests = ... the first so many)"
            )
        found, have = [np.zeros(0)], 0
        for window in self.windows:
            if most is not None and have >= most:
                break
            found.append(window.arrivals(generator, None if most is None else most - have))
            have += len(found[-1])
        return np.concatenate(found)

    def draw(
        self,
        arrivals: np.random.Generator,
        lengths: np.random.Generator | None,
        most: int | None = None,
    ) -> Workload:
        """Requests with times in seconds from the first window's start; there may be none.

        Parameters:
            arrivals: where the gaps come from.
            lengths: where the lengths come from, two uniforms a request: input, then output.
                None: every request has one output token.
            most: how many to draw at most, the first.

        Raises:
            InputError: as `arrivals`, or a request in a window without a length table.
        """
        times = self.arrivals(arrivals, most)
        if len(times) == 0:
            return Workload.empty("s")
        prompt, output = np.zeros(len(times), dtype=np.int64), np.ones(len(times), dtype=np.int64)
        if lengths is not None:
            prompt, output = self._lengths(times, open_uniforms(lengths, 2 * len(times)).reshape(-1, 2))
        since = times - self.windows[0].start
        return Workload.from_arrays(prompt + output, since, prompt, time_unit="s")

    def _lengths(self, times: NDArray[np.float64], uniforms: NDArray[np.float64]) -> Any:
        starts = np.array([table.start for table in self.tables])
        place = np.searchsorted(starts, times, side="right") - 1
        prompt, output = np.zeros(len(times), dtype=np.int64), np.ones(len(times), dtype=np.int64)
        for index in np.unique(place):
            inside = place == index
            table = self.tables[index] if index >= 0 else None
            if table is None or table.idle:
                at = float(times[inside][0])
                raise InputError(
                    f"{self.path}: a request at {amount(at)} s finds no length table for that time"
                )
            prompt[inside] = table.input.tokens(uniforms[inside, 0])
            output[inside] = table.output.tokens(uniforms[inside, 1])
        return prompt, output


def read_client(path: str | PathLike[str], dataset: str | PathLike[str] | None = None) -> Client:
    """The client of the trace file at `path` and its dataset.

    Parameters:
        path: ``*-trace.csv``.
        dataset: ``*-dataset.json``; None: the file of that name beside `path`.

    Raises:
        InputError: a file that cannot be read or a value that is not allowed: the message names file,
            row or window, field, value and what is allowed.
    """
    windows = read_windows(as_path(path))
    return Client(str(path), windows, read_lengths(dataset_beside(path) if dataset is None else dataset))


def describe_client(client: Client) -> dict[str, Any]:
    """A client in numbers, ready for JSON: rates per second, means of tokens over its active windows."""
    client.require_active()
    active = client.active
    rates = np.array([window.rate for window in active])
    tables = [table for table in client.tables if not table.idle]
    families = [window.family for window in active]
    return {
        "file": client.path,
        "windows": len(client.windows),
        "active": len(active),
        "start": client.windows[0].start,
        "end": client.windows[-1].end,
        "mean_rate_active": float(rates.mean()),
        "mean_rate": client.mean_rate(),
        "largest_rate": float(rates.max()),
        "cv": float(rates @ np.array([window.cv for window in active]) / rates.sum()),
        "mean_input": float(np.mean([table.input.mean for table in tables])) if tables else None,
        "mean_output": float(np.mean([table.output.mean for table in tables])) if tables else None,
        "families": {name: families.count(name) for name in sorted(set(families))},
        "fit_misses_rate": sum(abs(window.fitted_rate / window.rate - 1) > 0.1 for window in active),
    }


def dataset_beside(path: str | PathLike[str]) -> Path:
    """The dataset that goes with a trace file, by name.

    Raises:
        InputError: the trace's name does not end in ``trace.csv``.

    >>> dataset_beside("chunk-14-trace.csv").name
    'chunk-14-dataset.json'
    """
    name = Path(path).name
    if name.endswith("dataset.json"):
        trace = name.removesuffix("dataset.json") + "trace.csv"
        raise InputError(f"{path} is the dataset of a ServeGen client: path must be its trace, {trace!r}")
    if not name.endswith("trace.csv"):
        raise InputError(f"{path}: its name does not end in 'trace.csv', so its dataset must be given")
    return Path(path).with_name(name.removesuffix("trace.csv") + "dataset.json")
