"""Step times to begin with, by name: what a GPU and a model make of c and tau, and where it comes from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from fairq.cost import StepTime
from fairq.load import step_ratio

__all__ = ["PRESETS", "Preset", "Presets"]


@dataclass(frozen=True, slots=True)
class Preset:
    """A documented step time, with the batch and the lengths that it is meant for.

    Attributes:
        name: what a scenario's ``clock`` calls it.
        clock: the step time, in seconds.
        batch_size: a batch that its memory holds at these lengths.
        mean_tokens: E[o] of the lengths it is meant for, prompt and output.
        source: where the numbers come from.

    >>> print(PRESETS["short-chat"])
    short-chat: c = 0.0066 s, tau = 2.6e-07 s, B = 32, E[o] = 126: x = 0.16
    """

    name: str
    clock: StepTime
    batch_size: int
    mean_tokens: float
    source: str

    @property
    def x(self) -> float:
        """tau·B·E[o]/c: near 0 full batches carry most load, from about 1 on level ones do."""
        return step_ratio(self.mean_tokens, batch_size=self.batch_size, clock=self.clock)

    def __str__(self) -> str:
        return (
            f"{self.name}: c = {self.clock.c:.2g} s, tau = {self.clock.tau:.2g} s, B = {self.batch_size}, "
            f"E[o] = {self.mean_tokens:g}: x = {self.x:.2g}"
        )


_ROOFLINE = (
    "one decoding step reads the weights once and the keys and values of every slot, padded to the longest: "
    "c = bytes of weights / bandwidth, tau = bytes of keys and values per token / bandwidth; "
)


class Presets(Mapping[str, Preset]):
    """Step times to begin with, by name; printed, a line each with its x.

    >>> [name for name in PRESETS]
    ['short-chat', 'long-context', 'grouped-attention']
    """

    def __init__(self, presets: Iterable[Preset]) -> None:
        self._presets = {preset.name: preset for preset in presets}

    def __getitem__(self, name: str) -> Preset:
        return self._presets[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._presets)

    def __len__(self) -> int:
        return len(self._presets)

    def __str__(self) -> str:
        return "\n".join(map(str, self._presets.values()))


PRESETS = Presets(
    (
        Preset(
            "short-chat",
            StepTime(c=0.0066, tau=2.6e-7),
            batch_size=32,
            mean_tokens=126,
            source=_ROOFLINE + "a model of 7 billion parameters in 16 bits (13.5 GB; 32 layers of 4096, "
            "2·32·4096·2 = 524,288 bytes a token) at 2.04 TB/s; lengths of the paper's LMSYS sample",
        ),
        Preset(
            "long-context",
            StepTime(c=0.0066, tau=2.6e-7),
            batch_size=32,
            mean_tokens=2880,
            source=_ROOFLINE + "the same model and GPU (32 requests of 2880 tokens hold 48 GB); lengths of "
            "an arXiv summarisation trace, prompt and output",
        ),
        Preset(
            "grouped-attention",
            StepTime(c=0.0079, tau=6.4e-8),
            batch_size=64,
            mean_tokens=2880,
            source=_ROOFLINE + "a model of 8 billion parameters in 16 bits (16.1 GB) whose 8 heads of keys "
            "and values are shared (2·32·8·128·2 = 131,072 bytes a token) at 2.04 TB/s; the same lengths",
        ),
    )
)
"""They are arithmetic, not measurements: c and tau of a real server are fitted to its own steps."""
