"""The layouts of request traces in common use, as data: which column means what, and in which unit.

A format is known by the names of its columns, whatever holds them: CSV, JSON lines, a JSON list or
Parquet.  To support another one, add a row to `FORMATS`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from fairq.errors import unknown_name

__all__ = [
    "FORMATS", "OWN", "OWN_COLUMNS", "PAIR", "SERVEGEN_FAMILIES", "SERVEGEN_FIELDS", "UNITS", "Format",
    "format_named",
]  # fmt: skip

UNITS: Mapping[str, int] = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
"""Units of a file's times, and how many of each make a second."""

PAIR = ("prompt", "output")
"""The names given to the two entries of a list [prompt, output]."""

SERVEGEN_FIELDS = 6
SERVEGEN_FAMILIES = ("", "Gamma", "Weibull")
"""A ServeGen window: start, rate, CV, one of these families, shape, scale."""

OWN_COLUMNS = (
    "arrival", "tokens", "prompt_tokens", "output_tokens", "lower", "upper", "label", "billed_tokens",
    "request", "time_unit", "prompt_chunk", "measured_latency", "measured_ttft",
)  # fmt: skip
"""Our own names of a file's columns."""


@dataclass(frozen=True)
class Format:
    """One layout: our names to the file's.

    Attributes:
        name: what `format=` calls it.
        about: where it comes from.
        columns: the columns it must have, from our names to the file's.
        optional: those that are used where they are there.
        unit: of its times: a key of `UNITS`, ``"datetime"``, or None where it has no times.
        marks: further columns of the file, any of which tells it from a format with the same names.
        aborts: whether a row whose time to the first token is missing or -1 is of a request that was aborted.
        sniffed: whether it is recognised by its columns; else it must be named.
    """

    name: str
    about: str
    columns: Mapping[str, str]
    unit: str | None
    optional: Mapping[str, str] = field(default_factory=dict)
    marks: tuple[str, ...] = ()
    sniffed: bool = True
    aborts: bool = False

    @property
    def wanted(self) -> str:
        """The columns of the file by which the format is known, in words."""
        columns = ", ".join(self.columns.values())
        return f"{columns} and one of {', '.join(self.marks)}" if self.marks else columns

    def fits(self, names: Collection[str]) -> bool:
        """Whether a file with the columns `names` is of this format."""
        marked = not self.marks or any(mark in names for mark in self.marks)
        return marked and set(self.columns.values()) <= set(names)


def _layout(arrival: str, prompt: str, output: str) -> dict[str, str]:
    return {"arrival": arrival, "prompt_tokens": prompt, "output_tokens": output}


def _lengths(prompt: str, output: str) -> dict[str, str]:
    return {"prompt_tokens": prompt, "output_tokens": output}


_MOONCAKE = _layout("timestamp", "input_length", "output_length")

OWN = Format("csv", "our own columns", {}, None, sniffed=False)
"""Our own format: times as they are, in the unit that the file names."""

FORMATS: Mapping[str, Format] = {
    layout.name: layout
    for layout in (
        Format(
            "azure", "Azure LLM inference traces 2023, 2024 and multimodal 2025",
            _layout("TIMESTAMP", "ContextTokens", "GeneratedTokens"), "datetime",
        ),
        Format(
            "burstgpt", "BurstGPT, with and without session columns",
            _layout("Timestamp", "Request tokens", "Response tokens"), "s",
            {"tokens": "Total tokens", "label": "Model", "measured_latency": "Elapsed time"},
        ),
        Format(
            "bailian", "Bailian (Qwen) usage traces", _MOONCAKE, "s", {"label": "type"},
            ("chat_id", "parent_chat_id", "turn", "type"),
        ),
        Format("mooncake", "Mooncake traces, in milliseconds", _MOONCAKE, "ms"),
        Format("mooncake-seconds", "the same columns in seconds", _MOONCAKE, "s", sniffed=False),
        Format(
            "vidur", "Vidur replay traces",
            _layout("arrived_at", "num_prefill_tokens", "num_decode_tokens"), "s",
            {"tokens": "num_total_tokens"},
        ),
        Format(
            "vidur-intervals", "Vidur interval traces",
            _layout("arrival_time", "num_prefill_tokens", "num_decode_tokens"), "datetime",
        ),
        Format(
            "vidur-lengths", "Vidur and Etalon length tables, without times",
            _lengths("num_prefill_tokens", "num_decode_tokens"), None, {"tokens": "num_total_tokens"},
        ),
        Format(
            "splitwise-sim", "splitwise-sim traces",
            _layout("arrival_timestamp", "prompt_size", "token_size"), "s",
        ),
        Format(
            "vllm-sr-sim", "vllm-sr-sim traces",
            _layout("timestamp", "prompt_tokens", "generated_tokens"), "s", {"label": "category"},
        ),
        Format(
            "llmservingsim", "LLMServingSim traces",
            _layout("arrival_time_ns", "input_toks", "output_toks"), "ns",
        ),
        Format(
            "vtc", "result files of the VTC artifact, with what was measured",
            _layout("req_time", "prompt_len", "output_len"), "s",
            {
                "label": "adapter_dir", "measured_latency": "request_latency",
                "measured_ttft": "first_token_latency",
            },
            aborts=True,
        ),
        Format("distserve", "DistServe traces", _layout("start_time", "prompt_len", "output_len"), "s"),
        Format(
            "blis", "BLIS TraceV2 rows",
            _layout("arrival_time_us", "input_tokens", "output_tokens"), "us", {"label": "client_id"},
        ),
        Format("lengths", "lengths without times", _lengths("input_length", "output_length"), None),
        Format(
            "lmsys-lengths", "LMSYS length tables, without times",
            _lengths("question_length", "answer_length"), None,
        ),
        Format("pairs", "lists [prompt, output], without times", _lengths(*PAIR), None),
    )
}  # fmt: skip
"""Every foreign format by its name; the first that fits a file's columns is taken."""


def format_named(name: object) -> Format:
    """The format called `name`.

    Raises:
        InputError: there is none of that name; the nearest is named.
    """
    known = {OWN.name: OWN, **FORMATS}
    if not isinstance(name, str) or name not in known:
        raise unknown_name("format", name, known)
    return known[name]
