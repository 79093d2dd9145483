"""The report of a study: one web page that needs nothing else, and a table for the terminal."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2

from fairq.class_report import class_estimates, class_labels
from fairq.findings import findings, setting
from fairq.overload import overload_sentences
from fairq.provenance import spread
from fairq.reshaping import prompt_model
from fairq.sections import CLASS_SECTIONS, SECTIONS, Section
from fairq.statistics import Interval, intervals, summarise
from fairq.wording import interval_text, metric, number_text, range_text, time_unit

if TYPE_CHECKING:
    from fairq.figures import Picture
    from fairq.study import Study

    Estimates = Mapping[tuple[Any, str], Interval]  # by row and metric

__all__ = ["aligned", "environment", "image_entry", "report_page", "text_table", "write_report"]


LIMITS = ("Prefix reuse is not modelled: every request processes all its tokens.",)
_TERMINAL = (
    ("throughput", "makespan", "latency_mean", "latency_p99", "completed_share"),
    ("cost_time", "cost_externality", "cost", "profit", "mean_extent"),
)


def write_report(study: Study, directory: Path) -> None:
    """Write `report.html` and `figures/*.png` into `directory`.

    Raises:
        OSError: the directory cannot be written.
    """
    from fairq.figures import as_png, study_pictures  # only who draws loads seaborn

    pictures = [(picture, as_png(picture.figure)) for picture in study_pictures(study)]
    folder = directory / "figures"
    folder.mkdir()
    for picture, image in pictures:
        (folder / f"{picture.name}.png").write_bytes(image)
    page = report_page(study, pictures)
    (directory / "report.html").write_text(page, encoding="utf-8", newline="\n")


def report_page(study: Study, pictures: Sequence[tuple[Picture, bytes]]) -> str:
    """The report as HTML with the images inside: no link leads out of it."""
    return (
        environment()
        .get_template("report.html")
        .render(
            title=f"Study {study.scenario.name}",
            setting=setting(study),
            findings=findings(study),
            intervals=_on_intervals(study),
            sections=_sections(study),
            classes=study.classes is not None,
            figures=[
                image_entry(picture, image, f"figures/{picture.name}.png") for picture, image in pictures
            ],
            limits=[prompt_model(study.scenario.workload.prompt_chunk), *LIMITS],
            readings=study.readings,
            engines=study.engines_text,
            arrivals=study.arrivals,
            scenario=json.dumps(study.scenario.to_dict(), indent=2, ensure_ascii=False),
        )
    )


def environment() -> jinja2.Environment:
    """Our templates; whatever they are given is escaped, and a name they lack is an error."""
    return jinja2.Environment(
        loader=jinja2.PackageLoader("fairq"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def text_table(study: Study) -> str:
    """The main figures as text, two blocks of at most 100 columns, units in the heads.

    Policies that did not keep up are named first, and marked.
    """
    values, blocks = _with_share(study), ["\n".join(overload_sentences(study))] if study.overloads else []
    for names in _TERMINAL:
        heads = [metric(name, time_unit(study.scenario.clock)) for name in names]
        rows = [
            ["policy", *(head.title.lower() if head.title[1:2].islower() else head.title for head in heads)]
        ]
        rows += [["", *(head.unit for head in heads)]]
        for cell, label in study.labels.items():
            mark = study.mark(cell)
            who = f"{label} [{mark}]" if mark else label
            rows.append([who, *(interval_text(values[cell, name]) for name in names)])
        blocks.append(aligned(rows))
    return "\n\n".join([*blocks, _on_intervals(study)])


def aligned(rows: list[list[str]]) -> str:
    """Columns of equal width, the first to the left, figures to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for first, *others in rows:
        figures = (text.rjust(width) for text, width in zip(others, widths[1:], strict=True))
        lines.append("  ".join([first.ljust(widths[0]), *figures]).rstrip())
    return "\n".join(lines)


def _on_intervals(study: Study) -> str:
    replications = study.scenario.replications
    recorded, exact = spread(study.scenario)
    if exact:
        return recorded
    if replications == 1:
        said = "One replication: no intervals can be given, and a difference may be chance."
    else:
        said = (
            f"Means over {replications} replications with 95 % intervals (Student's t); quantiles are taken "
            "within each replication and then averaged. A figure without an interval was the same in all of "
            "them."
        )
    return f"{recorded} {said}".strip()


def _with_share(study: Study) -> Estimates:
    """The estimates with one metric more, the percentage of the arrived that was completed."""
    runs = study.runs[["cell"]].assign(completed_share=100 * study.runs["completed"] / study.runs["arrived"])
    return study.intervals | intervals(summarise(runs, ["cell"], ["completed_share"]))


def _sections(study: Study) -> list[dict[str, Any]]:
    """The tables by policy, and those by policy and class where there are classes."""
    unit, cells = time_unit(study.scenario.clock), _with_share(study)
    labels = {cell: (label, study.mark(cell)) for cell, label in study.labels.items()}
    tables = [_section(section, unit, cells, labels) for section in SECTIONS]
    if study.classes is None:
        return tables
    values, names = class_estimates(study), class_labels(study)
    return tables + [_section(section, unit, values, names) for section in CLASS_SECTIONS]


def _section(
    section: Section, unit: str, values: Estimates, labels: Mapping[Any, tuple[str, str]]
) -> dict[str, Any]:
    names = [name for name in section.metrics if _worth_a_column(values, name)]
    return {
        "title": section.title,
        "note": section.note,
        "heads": [metric(name, unit) for name in names],
        "rows": [
            (label, mark, [_cell(values[key, name]) for name in names])
            for key, (label, mark) in labels.items()
        ],
    }


def _worth_a_column(values: Estimates, name: str) -> bool:
    """Workers that cost nothing need no column."""
    return name != "cost_workers" or any(value.mean for (_, of), value in values.items() if of == name)


def _cell(value: Interval) -> tuple[str, str]:
    return number_text(value.mean, value.half_width), range_text(value)


def image_entry(picture: Picture, image: bytes, file: str) -> dict[str, str]:
    """What a template needs to show a picture: the PNG as a data address, caption, alternative text, file."""
    source = "data:image/png;base64," + base64.b64encode(image).decode("ascii")
    return {"source": source, "title": picture.title, "alt": picture.alt, "file": file}
