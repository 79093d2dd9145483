"""Rows of a Parquet file, with pyarrow: the extra ``fairq[parquet]``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from fairq.errors import InputError

if TYPE_CHECKING:
    from os import PathLike

__all__ = ["ParquetTable"]

_ROWS = 1 << 16


class ParquetTable:
    """Rows of a Parquet file; see `fairq.table.Table`."""

    header = "schema"
    blank = 0
    binary = True

    def __init__(self, file: Any, path: str) -> None:
        self._file = file
        self.path = path
        self.names: list[str] = list(file.schema_arrow.names)

    @classmethod
    @contextmanager
    def open(cls, path: str | PathLike[str]) -> Iterator[ParquetTable]:
        """The rows of the file at `path`.

        Raises:
            InputError: pyarrow is not installed, or the file is damaged.
        """
        try:
            from pyarrow import ArrowException
            from pyarrow.parquet import ParquetFile
        except ImportError:
            raise InputError(
                f"{path} is a Parquet file, and pyarrow, which reads it, is not installed: "
                "install it with pip install 'fairq[parquet]'"
            ) from None
        try:
            with ParquetFile(path) as file:
                yield cls(file, str(path))
        except (ArrowException, OSError) as error:
            reason = " ".join(str(error).split())
            raise InputError(f"{path} is not a Parquet file that can be read: {reason}") from None

    def pieces(self, wanted: Sequence[str]) -> Iterator[Mapping[str, Any]]:
        """The rows in order, as numpy arrays."""
        for batch in self._file.iter_batches(batch_size=_ROWS, columns=list(wanted)):
            yield {name: batch.column(name).to_numpy(zero_copy_only=False) for name in wanted}

    def row(self, index: int) -> str:
        """How an error calls row `index`."""
        return f"row {index + 1}"
