"""What a policy is told in place of a request's length: an interval [l, u] around it.

Section 3.4 of the paper plans with intervals that hold, l <= o <= u; Remark 3.25 sets calibrated
bounds against one global bound.  Laws here make such intervals from the true number of output tokens (a
prompt is there to be counted) and two uniforms a request.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np

from fairq.columns import MAX_TOKENS
from fairq.errors import InputError
from fairq.streams import open_uniforms
from fairq.validation import finite_number, whole_number

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fairq.workload import Workload

    Floats = NDArray[np.float64]
    Whole = NDArray[np.int64]

__all__ = ["Classes", "Global", "Noise", "Prediction", "Quantile", "predicted"]


class Prediction(Protocol):
    """A law of predictions."""

    def intervals(self, output: Whole, uniforms: Floats) -> tuple[Floats, Floats]:
        """Lower and upper ends as predicted, for `output` tokens and a row of two uniforms each."""


@dataclass(frozen=True)
class Noise:
    """Multiplicative noise: l = o/(1 + spread·V), u = o·(1 + spread·W), V and W uniform on (0, 1).

    The interval always holds; kappa, the mean of (u − o)/o, is about spread/2.

    Parameters:
        spread: >= 0.

    Raises:
        InputError: `spread` is not a finite number >= 0.

    >>> Noise(0.5).intervals(np.array([100]), np.array([[0.5, 0.2]]))
    (array([80.]), array([110.]))
    """

    spread: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "spread", finite_number("spread", self.spread, at_least=0))

    def intervals(self, output: Whole, uniforms: Floats) -> tuple[Floats, Floats]:
        """Lower and upper ends."""
        factors = 1 + self.spread * uniforms
        return np.asarray(output / factors[:, 0]), np.asarray(output * factors[:, 1])


@dataclass(frozen=True)
class Classes:
    """A classifier that is right: o in (edges[k − 1], edges[k]] is told as that class, from edges[k − 1] + 1.

    Parameters:
        edges: increasing whole numbers >= 1, upper ends of the classes; the first class begins at 1.

    Raises:
        InputError: no edges, or edges that are not increasing whole numbers >= 1.

    >>> Classes([100, 500]).intervals(np.array([100, 101]), np.zeros((2, 2)))
    (array([  1., 101.]), array([100., 500.]))
    """

    edges: tuple[int, ...]

    def __init__(self, edges: Sequence[int]) -> None:
        if not isinstance(edges, (list, tuple)) or not edges:
            raise InputError(f"edges is {edges!r}: it must be a list of at least one whole number")
        checked = tuple(whole_number(f"edges.{i}", edge, at_least=1) for i, edge in enumerate(edges))
        for index in range(1, len(checked)):
            if checked[index] <= checked[index - 1]:
                raise InputError(f"edges.{index} is {checked[index]}: it must be > {checked[index - 1]}")
        object.__setattr__(self, "edges", checked)

    def intervals(self, output: Whole, uniforms: Floats) -> tuple[Floats, Floats]:  # noqa: ARG002 -- no noise
        """Lower and upper ends.

        Raises:
            InputError: an output beyond the last edge.
        """
        ends = np.array([0, *self.edges], dtype=np.float64)
        _refuse_beyond(output, self.edges[-1], f"edges.{len(self.edges) - 1}")
        place = np.searchsorted(ends, output, side="left")
        return np.asarray(ends[place - 1] + 1), np.asarray(ends[place])


@dataclass(frozen=True)
class Quantile:
    """Calibrated ends of a forecast with a lognormal error: o·exp(error·(Z − z)) and o·exp(error·(Z + z)).

    The forecast is o·exp(error·Z), Z standard normal, and z the normal quantile at `level`: so the upper
    end is at least o with probability `level`, and the lower at most o with the same.

    Parameters:
        level: from 0.5 to below 1.
        error: standard deviation of the logarithm of the forecast, >= 0.

    Raises:
        InputError: a value that is not allowed.

    >>> Quantile(0.9, 0.0).intervals(np.array([100]), np.array([[0.5, 0.5]]))
    (array([100.]), array([100.]))
    """

    level: float
    error: float

    def __post_init__(self) -> None:
        level = finite_number("level", self.level)
        if not 0.5 <= level < 1:
            raise InputError(f"level is {self.level!r}: it must be a number from 0.5 to below 1")
        object.__setattr__(self, "level", level)
        object.__setattr__(self, "error", finite_number("error", self.error, at_least=0))

    def intervals(self, output: Whole, uniforms: Floats) -> tuple[Floats, Floats]:
        """Lower and upper ends."""
        from scipy.special import ndtri

        forecast, reach = ndtri(uniforms[:, 0]), float(ndtri(self.level))
        with np.errstate(over="ignore"):  # cut to the most that a request may have
            ends = [output * np.exp(self.error * (forecast + side * reach)) for side in (-1, 1)]
        return np.asarray(ends[0]), np.asarray(ends[1])


@dataclass(frozen=True)
class Global:
    """One upper bound for every request, as the maximum context length (Remark 3.25); lower ends are 1.

    Parameters:
        upper: a whole number >= 1; None: the largest output of the workload.

    Raises:
        InputError: `upper` is not a whole number >= 1.

    >>> Global(4096).intervals(np.array([100]), np.zeros((1, 2)))
    (array([1.]), array([4096.]))
    """

    upper: int | None = None

    def __post_init__(self) -> None:
        if self.upper is not None:
            object.__setattr__(self, "upper", whole_number("upper", self.upper, at_least=1))

    def intervals(self, output: Whole, uniforms: Floats) -> tuple[Floats, Floats]:  # noqa: ARG002 -- no noise
        """Lower and upper ends.

        Raises:
            InputError: an output beyond `upper`.
        """
        upper = output.max(initial=1) if self.upper is None else self.upper
        _refuse_beyond(output, int(upper), "upper")
        return np.ones(len(output)), np.full(len(output), float(upper))


def _refuse_beyond(output: Whole, most: int, name: str) -> None:
    largest = int(output.max(initial=1))
    if largest > most:
        raise InputError(f"{name} is {most}: it must be at least the largest output, which is {largest}")


def predicted(workload: Workload, law: Prediction, generator: np.random.Generator) -> Workload:
    """The same requests with what a policy may be told: whole l <= o <= u, the prompt included.

    Ends are rounded outwards.  An interval that would miss the truth, as a `Quantile` does by design, is
    widened to it, since the model's intervals hold; `Workload.widened` marks those requests.

    Raises:
        InputError: an output that the law does not allow.

    >>> import fairq
    >>> w = fairq.Workload.from_arrays([150, 40], prompt_tokens=[50, 0])
    >>> told = predicted(w, Classes([60, 200]), np.random.default_rng(0))
    >>> told.lower.tolist(), told.upper.tolist(), told.widened.tolist()
    ([111, 1], [250, 60], [False, False])
    """
    output, prompt = workload.output_tokens, workload.prompt_tokens
    uniforms = open_uniforms(generator, 2 * len(workload)).reshape(-1, 2)
    low, high = law.intervals(output, uniforms)
    lower = np.floor(np.clip(low, 1, MAX_TOKENS)).astype(np.int64)
    upper = np.ceil(np.clip(high, 1, MAX_TOKENS)).astype(np.int64)
    return replace(
        workload,
        lower=prompt + np.minimum(lower, output),
        upper=prompt + np.maximum(upper, output),
        widened=(lower > output) | (upper < output),
    )
