"""A trace in numbers: how its requests arrive, how long they are, what was left out."""

from __future__ import annotations

from collections import Counter
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from fairq.fits import best_fit
from fairq.tidying import count_ties, disorder

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fairq.workload import Workload

__all__ = ["describe", "dispersion", "gap_figures", "length_figures"]

PER_MILLE = (10, 100, 250, 500, 750, 900, 950, 990, 999)
WINDOWS = (0.1, 1.0, 10.0, 60.0, 600.0, 3600.0)
"""Widths, in the trace's unit of time, of the windows in which arrivals are counted."""

_FEWEST_WINDOWS = 10


def describe(workload: Workload) -> dict[str, Any]:
    """The description as plain values, ready for JSON; None where a figure is not defined.

    Keys: ``source`` (None without a file), ``requests``, ``time_unit``, ``arrivals`` (None where all
    come at one time), ``lengths`` (``prompt``, ``output``, ``total``), ``correlation`` of prompt and output.
    A rate or CV that no float holds is not defined.  Variances and CVs are those of a sample (divisor
    n − 1); a quantile p of n values is the ceil(np)-th smallest.

    >>> import fairq
    >>> w = fairq.Workload.from_arrays([5, 9, 7], arrival=[0, 1, 3])
    >>> describe(w)["arrivals"]["mean_gap"]
    1.5
    """
    prompt, output = workload.prompt_tokens, workload.output_tokens
    total = workload.tokens
    if workload.prompt_chunk != 1:
        total, prompt = workload.billed_tokens, workload.billed_tokens - output
    split = bool(prompt.any())
    parts = {"prompt": prompt, "output": output, "total": total} if split else {"total": total}
    spread = len(workload) > 1 and float(np.ptp(workload.arrival)) > 0
    return {
        "source": None if workload.source is None else workload.source.to_dict(),
        "requests": len(workload),
        "time_unit": workload.time_unit,
        "arrivals": gap_figures(workload) if spread else None,
        "lengths": {name: length_figures(values) for name, values in parts.items()},
        "correlation": _correlation(prompt, output) if split else None,
        "labels": _labels(workload),
    }


def gap_figures(workload: Workload) -> dict[str, Any]:
    """Span, rate, and the gaps between arrivals in order of time."""
    arrival, back = workload.arrival, disorder(workload.arrival)
    if back:
        arrival = np.sort(arrival)
    gaps = np.diff(arrival)
    span = float(arrival[-1] - arrival[0])
    mean, largest = span / len(gaps), float(gaps.max())
    return {
        "first": float(arrival[0]),
        "span": span,
        "rate": _known(len(gaps) / span),
        "mean_gap": mean,
        "cv": _cv(gaps, mean) if len(gaps) > 1 else None,
        "largest_gap": largest,
        "ties": count_ties(arrival),
        "out_of_order": workload.source.out_of_order if workload.source else back,
        "dispersion": dispersion(arrival - arrival[0]),
    }


def _cv(gaps: NDArray[np.float64], mean: float) -> float | None:
    """The CV of the gaps, which are scaled in place first: squares of very long ones are no floats."""
    if mean <= 0:
        return None
    with np.errstate(all="ignore"):
        gaps /= mean  # a long trace has no room for a copy
        return _known(float(gaps.std(ddof=1)))


def _known(value: float) -> float | None:
    """None for what floats cannot hold: JSON has no word for it."""
    return value if isfinite(value) else None


def dispersion(since: NDArray[np.float64]) -> list[dict[str, Any]]:
    """Arrivals counted by window: mean, variance/mean (1 for a Poisson process), least and most.

    Parameters:
        since: times from the first, in order.  A window that the trace does not fill is left out.
    """
    figures = []
    for width in WINDOWS:
        filled = float(since[-1]) / width  # infinite for times that are hardly floats
        if not _FEWEST_WINDOWS <= filled <= 10 * len(since):
            continue
        windows = int(since[-1] // width)
        counts = np.diff(np.searchsorted(since, width * np.arange(windows + 1)))
        mean = float(counts.mean())
        figures.append(
            {
                "window": width,
                "windows": windows,
                "mean": mean,
                "index": float(counts.var(ddof=1)) / mean,
                "least": int(counts.min()),
                "most": int(counts.max()),
            }
        )
    return figures


def length_figures(tokens: NDArray[np.int64]) -> dict[str, Any]:
    """Mean, variance, quantiles and the best of a few fitted laws."""
    values, counts = np.unique(tokens, return_counts=True)
    n, mean = len(tokens), float(tokens.mean())
    reached = np.cumsum(counts)
    ranks = [-(-n * share // 1000) for share in PER_MILLE]  # ceil(np), in whole numbers
    quantiles = values[np.searchsorted(reached, ranks)].tolist()
    return {
        "mean": mean,
        "variance": float(counts @ (values - mean) ** 2) / (n - 1) if n > 1 else None,
        "min": int(values[0]),
        "max": int(values[-1]),
        "quantiles": {f"p{share / 10:g}": value for share, value in zip(PER_MILLE, quantiles, strict=True)},
        "fit": best_fit(values, counts),
    }


def _correlation(prompt: NDArray[np.int64], output: NDArray[np.int64]) -> float | None:
    """Pearson's, None where one of them does not vary."""
    one, other = prompt - prompt.mean(), output - output.mean()
    scale = float(one @ one) * float(other @ other)
    return float(one @ other) / scale**0.5 if scale > 0 else None


def _labels(workload: Workload) -> dict[str, int]:
    """How many requests have each label, the most frequent ten first; empty without labels."""
    if not any(workload.label):
        return {}
    return dict(Counter(workload.label).most_common(10))
