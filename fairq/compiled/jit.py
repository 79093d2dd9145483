"""What turns a function of this package into machine code; the one place that imports Numba's decorators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba
from llvmlite import ir
from numba.extending import intrinsic, register_jitable

__all__ = ["compiled", "part", "shared", "trailing_zeros"]

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """`function` compiled at its first call for the types it is called with; it runs without the GIL.

    Floats keep to IEEE 754 (no fast mathematics, no fused multiply-add), so times have the same bits as
    those that Python computes.
    """
    made: Function = numba.njit(nogil=True)(function)
    return made


def part(function: Function) -> Function:
    """`function` as a part of the one compiled function that calls it: less to compile, to the same effect."""
    made: Function = numba.njit(nogil=True, inline="always")(function)
    return made


def shared(function: Function) -> None:
    """Let compiled functions call `function`, which stays as it is for plain Python."""
    register_jitable(function)


@intrinsic  # type: ignore[untyped-decorator]
def trailing_zeros(_context: Any, bits: Any) -> Any:
    """The number of zero bits below the lowest one bit of a word that is not 0; one machine instruction."""

    def generate(_target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return numba.int64(numba.int64), generate
