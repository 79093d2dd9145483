"""Text in files: plain or gzipped, UTF-8, read as a stream, and said where it is no such thing."""

from __future__ import annotations

import gzip
import io
import os
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from fairq.errors import InputError
from fairq.validation import shown

if TYPE_CHECKING:
    from os import PathLike

    from _typeshed import WriteableBuffer

__all__ = ["as_path", "first_bytes", "has_mark", "is_gzip", "open_text", "read_text", "require_regular"]

_GZIP = b"\x1f\x8b"
_BOM = b"\xef\xbb\xbf"


def as_path(path: Any) -> Path:
    """`path` as a `Path`.

    Raises:
        InputError: it is no text and no path object.

    >>> as_path(None)
    Traceback (most recent call last):
    fairq.errors.InputError: path is None: it must be the path of a file
    """
    if not isinstance(path, (str, os.PathLike)) or not isinstance(os.fspath(path), str):
        raise InputError(f"path is {shown(path)}: it must be the path of a file")
    return Path(path)


def require_regular(path: str | PathLike[str]) -> None:
    """Refuse what is there and is no file on a disk: it might never end, and cannot be read twice.

    Raises:
        InputError: a pipe, a device or a socket.
    """
    try:
        mode = as_path(path).stat().st_mode
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path itself
        raise _unreadable(path, error) from None
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise InputError(
            f"{str(path)!r} is not a regular file: it must be one (write what a pipe brings to a file first)"
        )


def first_bytes(path: str | PathLike[str], count: int) -> bytes:
    """The first `count` bytes of the file, as they are stored.

    Raises:
        InputError: the file is missing, a folder, a pipe or device, or unreadable.
    """
    require_regular(path)
    try:
        with Path(path).open("rb") as stream:
            return stream.read(count)
    except OSError as error:
        raise _unreadable(path, error) from None


def is_gzip(path: str | PathLike[str]) -> bool:
    """Whether the file's first bytes are those of gzip."""
    return first_bytes(path, 2) == _GZIP


@contextmanager
def open_text(path: str | PathLike[str]) -> Iterator[IO[str]]:
    """The text of a UTF-8 file, gzipped or not, line ends as they are, without a byte order mark.

    Raises:
        InputError: the file is missing, a folder, unreadable, binary, not UTF-8, or gzip cut short;
            also while the text is being read.
    """
    zipped = is_gzip(path)
    try:
        with (
            Path(path).open("rb") as stored,
            _Checked(stored, path, zipped) as checked,
            io.TextIOWrapper(io.BufferedReader(checked, 1 << 20), "utf-8-sig", newline="") as text,
        ):
            yield text
    except UnicodeDecodeError:
        raise _not_utf8(path, zipped) from None
    except OSError as error:
        raise _unreadable(path, error) from None


def read_text(path: str | PathLike[str]) -> str:
    """All the text of a UTF-8 file; see `open_text`."""
    with open_text(path) as text:
        return text.read()


def has_mark(path: str | PathLike[str]) -> bool:
    """Whether the file begins with a byte order mark."""
    if not is_gzip(path):
        return first_bytes(path, 3) == _BOM
    with Path(path).open("rb") as stored, _Checked(stored, path, True) as checked:
        return checked.read(3) == _BOM


class _Checked(io.RawIOBase):
    """A file's bytes, unzipped, with our own errors for what cannot be text."""

    def __init__(self, stored: IO[bytes], path: str | PathLike[str], zipped: bool) -> None:
        super().__init__()
        self.stream: IO[bytes] = gzip.GzipFile(fileobj=stored) if zipped else stored  # type: ignore[assignment]
        self.path = path
        self.lines = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        size = memoryview(buffer).nbytes
        try:
            data = self.stream.read(size)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise InputError(
                f"{self.path}: the gzip file is cut short or damaged after line {self.lines} ({error}): "
                "it must be whole"
            ) from None
        if b"\0" in data:
            line = self.lines + data.count(b"\n", 0, data.index(b"\0")) + 1
            raise InputError(f"{self.path}: line {line} holds a NUL byte: it must be a text file in UTF-8")
        self.lines += data.count(b"\n")
        memoryview(buffer)[: len(data)] = data
        return len(data)


def _unreadable(path: str | PathLike[str], error: Exception) -> InputError:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return InputError(f"{str(path)!r} cannot be read: {reason}; it must be a readable file")


def _not_utf8(path: str | PathLike[str], zipped: bool) -> InputError:
    """The error with the line and the byte that is not UTF-8, found by reading once more."""
    with Path(path).open("rb") as stored, _Checked(stored, path, zipped) as checked:
        for number, line in enumerate(io.BufferedReader(checked), start=1):
            try:
                line.decode()
            except UnicodeDecodeError as error:
                byte = line[error.start]
                return InputError(f"{path}: line {number} holds the byte 0x{byte:02x}: it must be UTF-8 text")
    return InputError(f"{path} is not UTF-8 text")
