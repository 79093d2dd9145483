"""A distribution of scipy.stats by its own name and parameters, checked.

scipy.stats takes a while to load and is loaded when a distribution is first made.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from fairq.errors import InputError, unknown_name
from fairq.validation import finite_number, shown

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Distribution"]

_LARGEST_PARAMETER = 2**53  # beyond it whole numbers and floats part ways


@dataclass(frozen=True)
class Distribution:
    """A continuous or discrete distribution of scipy.stats.

    Parameters:
        dist: its name there, such as ``"randint"``, ``"gamma"``, ``"lognorm"``.
        parameters: its shape parameters by their scipy names, and `loc` and `scale` where it has them.

    Raises:
        InputError: an unknown distribution or parameter (the nearest is named), or a missing or
            forbidden parameter value.

    >>> law = Distribution("gamma", {"a": 4, "scale": 0.25})
    >>> law.mean, law.variance, str(law)
    (1.0, 0.25, 'gamma(a=4, scale=0.25)')
    """

    dist: str
    parameters: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        law = _distribution(self.dist)
        object.__setattr__(self, "parameters", _checked_parameters(law, self.dist, self.parameters))
        if np.isnan(self.support[0]):
            raise InputError(
                f"dist is {self}: scipy.stats does not allow these parameters for {self.dist!r} "
                f"(see scipy.stats.{self.dist})"
            )

    def __str__(self) -> str:
        return f"{self.dist}({', '.join(f'{name}={value!r}' for name, value in self.parameters.items())})"

    @cached_property
    def frozen(self) -> Any:
        """The frozen distribution, as scipy.stats has it."""
        return _distribution(self.dist)(**self.parameters)

    @property
    def is_discrete(self) -> bool:
        """Whether its values are whole numbers."""
        return _is_discrete(_distribution(self.dist))

    @property
    def support(self) -> tuple[float, float]:
        """Its least and greatest value."""
        low, high = self.frozen.support()
        return float(low), float(high)

    @cached_property
    def mean(self) -> float:
        """Its mean, infinite or NaN where it has none."""
        return _quietly(self.frozen.mean)

    @cached_property
    def variance(self) -> float:
        """Its variance, infinite or NaN where it has none."""
        return _quietly(self.frozen.var)

    @cached_property
    def third(self) -> float:
        """Its third central moment, the skewness times the variance to the power 3/2."""
        return _quietly(lambda: self.frozen.stats(moments="s")) * float(self.variance**1.5)

    def quantiles(self, uniforms: NDArray[np.float64]) -> NDArray[np.float64]:
        """The inverse distribution function at each of `uniforms`, strictly inside (0, 1)."""
        with np.errstate(all="ignore"):  # what is not finite is the caller's to refuse
            return np.asarray(self.frozen.ppf(uniforms), dtype=np.float64)


def _quietly(moment: Callable[[], Any]) -> float:
    """A moment; scipy works out others beside it, and warns where one of those does not exist."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return float(moment())


def _is_discrete(law: Any) -> bool:
    import scipy.stats

    return isinstance(law, scipy.stats.rv_discrete)


def _distribution(name: Any) -> Any:
    """The distribution object of scipy.stats that `name` names."""
    import scipy.stats

    kinds = (scipy.stats.rv_continuous, scipy.stats.rv_discrete)
    found = getattr(scipy.stats, name, None) if isinstance(name, str) else None
    if isinstance(found, kinds):
        return found
    known = [key for key, value in vars(scipy.stats).items() if isinstance(value, kinds)]
    near = get_close_matches(str(name), known, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise InputError(
        f"dist is {name!r}: {hint}It must be the name of a continuous or discrete distribution of scipy.stats"
    )


def _checked_parameters(law: Any, dist: str, given: Mapping[str, Any]) -> dict[str, float]:
    """`given` as finite numbers, whole ones as ints (discrete laws want those), names checked."""
    shapes = [name.strip() for name in law.shapes.split(",")] if law.shapes else []
    known = [*shapes, "loc"] if _is_discrete(law) else [*shapes, "loc", "scale"]
    for name in given:
        if name not in known:
            raise unknown_name("parameter", name, known, of=dist)
    missing = [name for name in shapes if name not in given]
    if missing:
        raise InputError(f"{missing[0]} is missing: {dist!r} needs {', '.join(shapes)}")
    numbers = {name: finite_number(name, value) for name, value in given.items()}
    for name, value in numbers.items():
        if abs(value) > _LARGEST_PARAMETER:
            raise InputError(f"{name} is {shown(given[name])}: it must be within ±{_LARGEST_PARAMETER:g}")
    return {name: int(value) if value.is_integer() else value for name, value in numbers.items()}
