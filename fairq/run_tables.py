"""The tables of a run directory: a run's rows for them, and reading them back to the last bit."""

from __future__ import annotations

import math
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from fairq.errors import InputError

if TYPE_CHECKING:
    from fairq.result import Result

__all__ = ["class_rows", "read_table", "with_first"]

Row = dict[str, Any]


def class_rows(result: Result) -> list[Row]:
    """A row per class of request, and one for all together, as `Result.classes` has them.

    The latter is called ``"all"``; no class of a scenario may have that name.

    >>> import fairq
    >>> workload = fairq.Workload.from_arrays([3, 1, 2], label=["chat", "code", "chat"])
    >>> rows = class_rows(fairq.simulate(workload, "fcfs", batch_size=2))
    >>> [(row["class"], row["completed"]) for row in rows]
    [('chat', 2), ('code', 1), ('all', 3)]
    """
    rows = result.classes.rename_axis("class").reset_index().to_dict("records")
    return [{str(name): value for name, value in row.items()} for row in rows]


def with_first(rows: list[Row], first: list[str]) -> pd.DataFrame:
    """The rows as a table, the columns `first` before the others.

    >>> with_first([{"cost": 1.0, "cell": 0}], ["cell"]).columns.tolist()
    ['cell', 'cost']
    """
    table = pd.DataFrame(rows)
    return table[[*first, *(name for name in table.columns if name not in first)]]


def read_table(path: Path, texts: Collection[str] = ()) -> pd.DataFrame:
    r"""A table to the last bit as it was written, which pandas' own reading is not in every version.

    Parameters:
        path: a CSV file.
        texts: columns that stay text, whatever they look like.

    Raises:
        InputError: no table.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "runs.csv")
    >>> _ = path.write_text("cell,class\n0,7\n")
    >>> read_table(path, texts=["class"]).to_dict("records")
    [{'cell': 0, 'class': '7'}]
    """
    try:
        read = pd.read_csv(path, dtype=str, keep_default_na=False)
    except ValueError as error:  # pandas' parser errors are ValueErrors
        raise InputError(f"{path} is no table: {error}") from None
    columns = {name: read[name].tolist() for name in read.columns}
    return pd.DataFrame({name: v if name in texts else _column(v) for name, v in columns.items()})


def _column(texts: list[str]) -> list[bool] | list[int] | list[float] | list[str | None]:
    """Truth values or whole numbers if all are, else floats if all are (an empty text is NaN), else text."""
    if set(texts) <= {"True", "False"}:
        return [text == "True" for text in texts]
    with suppress(ValueError):
        return [int(text) for text in texts]
    with suppress(ValueError):
        return [float(text) if text else math.nan for text in texts]
    return [text or None for text in texts]
