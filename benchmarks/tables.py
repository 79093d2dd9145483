"""A kept run as text."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.contest import Outcome
from benchmarks.keeping import Kept
from benchmarks.memory import Peak, slope

__all__ = ["contest_table", "heading", "memory_table", "report"]


def report(kept: Kept) -> Iterator[str]:
    """Every line."""
    yield from heading(kept)
    for outcome in kept.outcomes:
        yield ""
        yield from contest_table(outcome)
    if kept.peaks:
        yield ""
        yield from memory_table(kept.peaks)


def heading(kept: Kept) -> Iterator[str]:
    """What was measured where and when."""
    yield from (f"{name}: {text}" for name, text in kept.made.items())


def contest_table(outcome: Outcome) -> Iterator[str]:
    """Requests per second and the ratio to the first contestant; in a contest about growth, the power."""
    if outcome.grows and len(outcome.timings) > 1:
        sizes = ", ".join(f"{timing.size:,.0f}" for timing in outcome.timings)
        yield f"{outcome.name}: to the power {outcome.exponent()}; {outcome.grows} = {sizes}"
        return
    yield outcome.name
    yield from (f"  {name}: {value:.2f}" for name, value in outcome.facts.items())
    if outcome.timings:
        base = outcome.timings[0].name
        yield f"  {'':38}{'requests':>10}{'requests/s':>12}{'ratio: median':>15}{'least':>8}{'most':>8}"
        for timing in outcome.timings:
            ratio = outcome.speed(timing.name, base)
            if ratio is not None:
                numbers = f"{ratio.median:15.3f}{ratio.least:8.3f}{ratio.most:8.3f}"
                yield f"  {timing.name:38}{timing.requests:10,}{timing.rate:12,.0f}{numbers}"
    yield from (f"  skipped: {name}: {reason}" for name, reason in outcome.skipped.items())


def memory_table(peaks: list[Peak]) -> Iterator[str]:
    """Peak by run, and bytes a request between two runs that differ in nothing else."""
    yield "peak memory of a process of its own: 8 workers, B = 32, lmsys-like, load 0.5"
    yield f"  {'policy, engine, record':34}{'requests':>12}{'MB':>8}{'bytes a request':>18}"
    before: Peak | None = None
    for peak in peaks:
        if peak.size is None:
            yield f"  skipped: {peak.name}: {peak.skipped}"
        else:
            grown = slope(before, peak) if before is not None and before.name == peak.name else None
            last = "" if grown is None else f"{grown:.0f}"
            yield f"  {peak.name:34}{peak.requests:12,}{peak.size / 1e6:8.0f}{last:>18}".rstrip()
        before = peak
