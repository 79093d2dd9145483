"""A worker's schedule as a picture: lanes of the batch against time, coloured by progress.

As Figures 1 to 3 of the paper.  Whoever calls needs no display: without an `ax` the plot is on
a new `Figure` of its own (``ax.figure.savefig(...)``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from fairq.cost import TOKEN_CLOCK
from fairq.errors import InputError
from fairq.validation import whole_number
from fairq.wording import cell_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fairq.cost import StepTime
    from fairq.result import Result

    Bar = tuple[np.ndarray, np.ndarray]  # progress at the cuts, and their times

__all__ = ["lanes", "plot_schedule"]

_PIECES = 40_000  # cells in a picture: more are not seen and take long
_BAR = 0.86


def plot_schedule(result: Result, ax: Axes | None = None, worker: int = 0) -> Axes:
    """Draw what `worker` did: a bar per request in its slot of the batch, cut into its progress.

    A colour is a progress in tokens, so a batch that is fair shows one colour from top to bottom;
    request ids stand in the bars that have room for them.

    Parameters:
        result: a run with its requests recorded.
        ax: where to draw; a new figure without one.
        worker: index of the worker.

    Returns:
        the axes drawn on; time in steps on the token clock, in seconds on others.

    Raises:
        InputError: no such worker.
        RecordError: the run did not record its requests.
    """
    worker = whole_number("worker", worker, at_least=0)
    if worker >= result.workers:
        raise InputError(f"worker is {worker}: it must be a whole number from 0 to {result.workers - 1}")
    requests = result.requests
    served = requests[(requests["worker"] == worker) & (requests["progress"] > 0)]
    served = served.sort_values(["start_step", "request"])
    axes = _new_axes(result.batch_size) if ax is None else ax
    lane = lanes(served["start_step"].to_numpy(), served["progress"].to_numpy())
    bars = _bars(served, result.clock)
    _draw_bars(axes, bars, lane)
    _write_ids(axes, served["request"].to_numpy(), bars, lane)
    axes.set(xlabel="time (steps)" if result.clock == TOKEN_CLOCK else "time (s)", ylabel="lane of the batch")
    axes.set_ylim(result.batch_size - 0.5, -0.5)
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    alpha = {} if result.alpha is None else {"alpha": result.alpha}
    axes.set_title(f"{cell_label(result.policy, {**alpha, **result.options})}, worker {worker}")
    return axes


def lanes(start_step: np.ndarray, progress: np.ndarray) -> np.ndarray:
    """The slot of each request of one worker, in order of start: the lowest that is free.

    Parameters:
        start_step: the worker's step count at which each was admitted, not decreasing.
        progress: tokens that each was served, at least 1.

    >>> lanes(np.array([0, 0, 3, 5]), np.array([5, 3, 4, 1])).tolist()
    [0, 1, 1, 0]
    """
    taken_until: list[int] = []
    slots = []
    for start, tokens in zip(start_step.tolist(), progress.tolist(), strict=True):
        slot = next((lane for lane, until in enumerate(taken_until) if until <= start), len(taken_until))
        taken_until[slot : slot + 1] = [start + tokens]
        slots.append(slot)
    return np.array(slots, dtype=np.int64)


def _new_axes(batch_size: int) -> Axes:
    figure = Figure(figsize=(9, min(10, 1.8 + 0.4 * batch_size)), layout="constrained")
    FigureCanvasAgg(figure)
    return figure.add_subplot()


def _bars(served: pd.DataFrame, clock: StepTime) -> list[Bar]:
    """The bar of every request: the progress at which it is cut, and the times of the cuts."""
    first = served["start_step"].to_numpy()
    elapsed = _elapsed(first, first + served["progress"].to_numpy(), clock)
    pieces = max(2, _PIECES // max(1, len(served)))
    bars = []
    for start, begin, tokens in zip(served["start"], first, served["progress"], strict=True):
        cuts = np.unique(np.linspace(0, tokens, min(tokens, pieces) + 1).astype(np.int64))
        bars.append((cuts, start + elapsed[begin + cuts] - elapsed[begin]))
    return bars


def _elapsed(first: np.ndarray, last: np.ndarray, clock: StepTime) -> np.ndarray:
    """Time that the worker's first k steps took together, by k; idle gaps are not in it.

    In step k the batch are those with first <= k < last, and its longest progress is that of the
    earliest admitted among them: in order of start, the first whose last step is still to come.
    """
    steps = np.arange(last.max(initial=0))
    batch = np.searchsorted(first, steps, "right") - np.searchsorted(np.sort(last), steps, "right")
    oldest = first[np.searchsorted(np.maximum.accumulate(last), steps, "right")]
    durations = clock.of(1, batch, batch * (steps - oldest + 1))
    return np.concatenate([[0.0], np.cumsum(durations)])


def _draw_bars(axes: Axes, bars: list[Bar], lane: np.ndarray) -> None:
    corners, progress = [], []
    for (cuts, times), slot in zip(bars, lane.tolist(), strict=True):
        low, high = slot - _BAR / 2, slot + _BAR / 2
        for left, right, tokens in zip(times[:-1], times[1:], cuts[1:], strict=True):
            corners.append([(left, low), (right, low), (right, high), (left, high)])
            progress.append(tokens)
    cells = PolyCollection(corners, array=np.array(progress, dtype=float), cmap="viridis", edgecolors="none")
    axes.add_collection(cells)
    axes.autoscale_view()
    if progress:
        axes.figure.colorbar(cells, ax=axes, label="progress (tokens)")


def _write_ids(axes: Axes, requests: np.ndarray, bars: list[Bar], lane: np.ndarray) -> None:
    """Each id at the beginning of its bar, where the colour is dark, if the bar has room for it."""
    low, high = axes.get_xlim()
    size = min(8.0, 300 / max(1, lane.max(initial=0)))
    for request, (_, times), slot in zip(requests.tolist(), bars, lane.tolist(), strict=True):
        text, width = str(request), (times[-1] - times[0]) / (high - low)
        if width > 0.013 * (len(text) + 0.5) * size / 8:
            axes.annotate(
                text,
                (times[0], slot),
                xytext=(2, 0),
                textcoords="offset points",
                fontsize=size,
                color="white",
                va="center",
                clip_on=True,
            )
