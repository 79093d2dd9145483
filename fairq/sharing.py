"""A workload that several processes read: written to a file once, mapped by each, copied by none."""

from __future__ import annotations

import mmap
import pickle
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from fairq.workload import Workload

__all__ = ["read_shared", "write_shared"]

_ALIGNED = 64  # bytes: every array begins at a multiple of it
_LENGTH = 8  # bytes of the number that begins the file


def write_shared(workload: Workload, path: Path) -> None:
    """Write `workload` to `path` for `read_shared`: what it is, and its arrays as they lie in memory.

    Raises:
        OSError: the file cannot be written.
    """
    buffers: list[pickle.PickleBuffer] = []
    body = pickle.dumps(workload, protocol=5, buffer_callback=buffers.append)
    arrays = [buffer.raw() for buffer in buffers]
    head = pickle.dumps((body, [array.nbytes for array in arrays]))
    with path.open("wb") as file:
        file.write(len(head).to_bytes(_LENGTH, "little") + head)
        for array in arrays:
            file.write(bytes(-file.tell() % _ALIGNED))
            file.write(array)


@lru_cache(maxsize=1)
def read_shared(path: Path) -> Workload:
    """The workload in a file that `write_shared` wrote, its arrays lying in the file.

    A process keeps the last one: the runs of a replication follow each other.  The file may be removed
    while it is in use; its memory is free when no process has it any more.

    Raises:
        OSError: the file cannot be read.

    >>> import tempfile
    >>> from fairq import Workload
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_shared(Workload.from_arrays([3, 1]), Path(folder, "0"))
    ...     read_shared(Path(folder, "0")).tokens.tolist()
    [3, 1]
    """
    with path.open("rb") as file:
        view = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    end = _LENGTH + int.from_bytes(view[:_LENGTH], "little")
    body, sizes = pickle.loads(view[_LENGTH:end])  # noqa: S301 - a file of our own, in a folder of our own
    arrays = []
    for size in sizes:
        begin = end + -end % _ALIGNED
        end = begin + size
        arrays.append(view[begin:end])
    return cast("Workload", pickle.loads(body, buffers=arrays))  # noqa: S301 - as above
