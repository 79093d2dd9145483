"""What turns functions of this package into machine code, and lets them reach their records.

The state of a run is records in NumPy arrays.  Compiled functions are handed addresses, and read a
record by address and index: an array as an argument is eight words and two atomic counts a call, which
would cost more than what most of these functions do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic, register_jitable
from numba.np.arrayobj import populate_array
from numba.np.numpy_support import from_dtype

__all__ = ["array_reader", "compiled", "part", "record_reader", "shared", "trailing_zeros"]

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """`function` compiled at its first call for the types it is called with; it runs without the GIL.

    Floats keep to IEEE 754 (no fast mathematics, no fused multiply-add), so times have the same bits as
    those that Python computes.
    """
    made: Function = numba.njit(nogil=True)(function)
    return made


def part(function: Function) -> Function:
    """`function` as a part of the only compiled function that calls it: there is less to compile."""
    made: Function = numba.njit(nogil=True, inline="always")(function)
    return made


def shared(function: Function) -> None:
    """Let compiled functions call `function`, which stays as it is for plain Python."""
    register_jitable(function)


def record_reader(dtype: np.dtype[Any]) -> Callable[[Any, Any], Any]:
    """A compiled function (address, index) -> the record there, to read and to write."""
    record = from_dtype(dtype)

    def read(_context: Any, _address: Any, _index: Any) -> Any:
        def generate(target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            address, index = arguments
            offset = builder.mul(index, ir.Constant(index.type, dtype.itemsize))
            return builder.inttoptr(builder.add(address, offset), target.get_value_type(record))

        return record(types.int64, types.int64), generate

    reader: Callable[[Any, Any], Any] = intrinsic(read)
    return reader


def array_reader(dtype: np.dtype[Any]) -> Callable[[Any, Any], Any]:
    """A compiled function (address, length) -> the flat array there."""
    array = types.Array(from_dtype(dtype), 1, "C")

    def read(_context: Any, _address: Any, _length: Any) -> Any:
        def generate(target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            address, length = arguments
            made = target.make_array(array)(target, builder)
            step = ir.Constant(length.type, dtype.itemsize)
            data = builder.inttoptr(address, made.data.type)
            populate_array(made, data=data, shape=[length], strides=[step], itemsize=step, meminfo=None)
            return made._getvalue()  # noqa: SLF001 - Numba has no other way

        return array(types.int64, types.int64), generate

    reader: Callable[[Any, Any], Any] = intrinsic(read)
    return reader


def _trailing_zeros(_context: Any, _bits: Any) -> Any:

    def generate(_target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.int64), generate


trailing_zeros: Callable[[Any], Any] = intrinsic(_trailing_zeros)
"""The number of zero bits below the lowest one bit of a word that is not 0; one machine instruction."""
