"""The kernel in machine code: compiled once, kept on disk, in memory where no folder can be written."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

import numba

from fairq import cohort, cost
from fairq.compiled.kernel import serve
from fairq.compiled.stays import write_stays
from fairq.compiled.stock import take_stock
from fairq.errors import EngineWarning

__all__ = ["book_keeper", "copy_stays", "kernel"]

SOURCES = (*sorted(Path(__file__).parent.glob("*.py")), Path(cohort.__file__), Path(cost.__file__))
"""The files that the kernel is compiled from."""

_said: list[str] = []  # why the kernel could not be kept, once that has been said

Record = Any  # a record of `RUN`, or of `STOCK`
Kernel = Callable[..., tuple[Any, int]]
Maker = Callable[[int], Kernel]  # a kernel from the stamp of its sources


def kernel(run: Record) -> float:
    """`fairq.compiled.kernel.serve`; the first call in a process reads it from disk, or compiles it."""
    stopped_at: float = _call(_stamped, run)
    return stopped_at


def book_keeper(stock: Record) -> bool:
    """`fairq.compiled.stock.take_stock`, read or compiled in the same way."""
    done: bool = _call(_stamped_stock, stock)
    return done


def copy_stays(run: Record, columns: Record) -> int:
    """`fairq.compiled.stays.write_stays`, read or compiled in the same way."""
    count: int = _call(_stamped_stays, run, columns)
    return count


def _call(make: Maker, *arguments: Record) -> Any:
    try:
        return _kept(make)(*arguments)[0]
    except OSError as error:  # the folder was there and has been closed, or the disk is full
        _say_so(error)
        return _in_memory(make)(*arguments)[0]


@cache
def _kept(make: Maker) -> Kernel:
    try:
        made: Kernel = numba.njit(nogil=True, cache=True)(make(_stamp(SOURCES)))
    except RuntimeError as error:  # Numba found no folder that it can write
        _say_so(error)
        return _in_memory(make)
    return made


@cache
def _in_memory(make: Maker) -> Kernel:
    made: Kernel = numba.njit(nogil=True)(make(0))
    return made


def _stamped(stamp: int) -> Kernel:
    """The kernel as a closure over `stamp`, which so becomes a part of its key in the cache.

    Numba itself looks only at the file of the function that it keeps, not at those of the functions it calls.
    """

    def entry(run: Record) -> tuple[float, int]:
        return serve(run), stamp

    return entry


def _stamped_stock(stamp: int) -> Kernel:
    def entry(stock: Record) -> tuple[bool, int]:
        return take_stock(stock), stamp

    return entry


def _stamped_stays(stamp: int) -> Kernel:
    def entry(run: Record, columns: Record) -> tuple[int, int]:
        return write_stays(run, columns), stamp

    return entry


def _stamp(sources: Iterable[Path]) -> int:
    """A number that changes with any of the `sources`."""
    digest = hashlib.sha256()
    for path in sources:
        digest.update(path.read_bytes())
    return int.from_bytes(digest.digest()[:7], "big")


def _say_so(error: Exception) -> None:
    """Warn, once in a process."""
    if _said:
        return
    _said.append(str(error))
    warnings.warn(
        f"the compiled engine cannot be kept on disk, so each process compiles it anew ({error}); "
        "NUMBA_CACHE_DIR may name a folder that can be written",
        EngineWarning,
        stacklevel=5,
    )
