"""Which of a few laws of scipy.stats comes nearest to a trace's lengths."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["LAWS", "best_fit"]

LAWS = ("expon", "gamma", "lognorm", "weibull_min")
"""Laws that are fitted, by their names in scipy.stats."""

_SAMPLE = 5_000
"""Values that a law is fitted to: evenly spaced quantiles of a longer trace."""


def best_fit(values: NDArray[np.int64], counts: NDArray[np.int64]) -> dict[str, Any] | None:
    """The law with the least Kolmogorov distance to the data, fitted by maximum likelihood, location 0.

    Parameters:
        values: the different token counts, ascending.
        counts: how often each occurs.

    Returns:
        ``dist`` and parameters by scipy's names, as a scenario's ``tokens`` takes them, and ``distance``,
        the largest difference of the distribution functions, between 0 and 1, from all the data.
        None where all values are equal or one is not above 0.
    """
    if len(values) < 2 or values[0] <= 0:
        return None
    reached = np.cumsum(counts)
    ranks = np.linspace(1, reached[-1], min(int(reached[-1]), _SAMPLE)).round()
    sample = values[np.searchsorted(reached, ranks)].astype(np.float64)
    fits = [fit for fit in (_fit(name, sample, values, reached) for name in LAWS) if fit is not None]
    return min(fits, key=lambda fit: float(fit["distance"]), default=None)


def _fit(
    name: str, sample: NDArray[np.float64], values: NDArray[np.int64], reached: NDArray[np.int64]
) -> dict[str, Any] | None:
    import scipy.stats

    law = getattr(scipy.stats, name)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # a law that does not fit at all is told by its distance
        try:
            *shapes, _, scale = law.fit(sample, floc=0)
        except (ValueError, RuntimeError, scipy.stats.FitError):
            return None
    names = [shape.strip() for shape in law.shapes.split(",")] if law.shapes else []
    parameters = {**dict(zip(names, map(float, shapes), strict=True)), "scale": float(scale)}
    distance = _distance(law(**parameters), values, reached / reached[-1])
    return {"dist": name, **parameters, "distance": distance} if np.isfinite(distance) else None


def _distance(law: Any, values: NDArray[np.int64], share: NDArray[np.float64]) -> float:
    """The largest difference between the law's distribution function and that of whole values.

    A whole value v stands for what rounds to it, so the law is looked at just before v − 1/2 and up to
    v + 1/2.
    """
    before = np.concatenate(([0.0], share[:-1]))
    above, below = np.abs(share - law.cdf(values + 0.5)), np.abs(before - law.cdf(values - 0.5))
    return float(max(above.max(), below.max()))
