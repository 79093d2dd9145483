"""Peak memory of a process of its own that serves one workload and does nothing else.

    python -m benchmarks.memory POLICY ENGINE RECORD REQUESTS

prints it in bytes: 8 workers, B = 32, lmsys-like, half of all slots busy; imports and workload included.
"""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.entrants import ENGINES, Served
from benchmarks.workloads import poisson
from fairq.errors import InputError

__all__ = ["Peak", "levels", "peak", "promised", "slope"]

ROOT = Path(__file__).resolve().parent.parent
LEVELS = ("summary", "requests", "segments")
STATUS = Path("/proc/self/status")


@dataclass(frozen=True)
class Peak:
    """The most memory that a process held.

    Attributes:
        policy, engine, record, requests: what it served, and which tables it kept.
        size: bytes resident at once; None where it could not run.
        skipped: why it could not.
    """

    policy: str
    engine: str
    record: str
    requests: int
    size: float | None
    skipped: str = ""

    @property
    def name(self) -> str:
        """Policy, engine, record level."""
        return f"{self.policy}, {self.engine}, {self.record}"


def peak(policy: str, engine: str, record: str, requests: int) -> Peak:
    """Serve in a process of its own."""
    words = [policy, engine, record, str(requests)]
    command = [sys.executable, "-m", "benchmarks.memory", *words]
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=ROOT)  # noqa: S603 - ours
    if done.returncode != 0:
        return Peak(policy, engine, record, requests, None, (done.stderr.splitlines() or ["it died"])[-1])
    return Peak(policy, engine, record, requests, float(done.stdout))


def levels(requests: int) -> Iterator[Peak]:
    """Two sizes of every record level on both engines."""
    for engine in ENGINES:
        # A kernel compiled in the process itself would count: this one leaves it on disk.
        peak("fcfs", engine, "summary", 1)
        for record in LEVELS:
            for count in (requests, 3 * requests):
                yield peak("fcfs", engine, record, count)


def promised() -> Iterator[Peak]:
    """The large runs whose memory is promised; the first takes a while to make."""
    for policy in ("fcfs", "isjl"):
        yield peak(policy, "compiled", "summary", 10_000_000)
        yield peak(policy, "compiled", "requests", 1_000_000)


def slope(small: Peak, large: Peak) -> float | None:
    """Bytes a request: what the larger run held beyond the smaller, by the requests it had more.

    >>> slope(Peak("fcfs", "simpy", "summary", 10, 1000.0), Peak("fcfs", "simpy", "summary", 30, 5000.0))
    200.0
    """
    if small.size is None or large.size is None:
        return None
    return (large.size - small.size) / (large.requests - small.requests)


def _resident() -> float:
    """The most bytes resident so far: of this program alone, where the system tells.

    What `resource` tells may be the starter's, whose peak a process inherits on Linux.
    """
    if STATUS.exists():
        for line in STATUS.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return 1024.0 * int(line.split()[1])
    unit = 1.0 if sys.platform == "darwin" else 1024.0
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _serve(policy: str, engine: str, record: str, requests: str) -> float:
    workload = poisson(int(requests), load=0.5, workers=8, batch_size=32)
    result = Served(policy, engine, workload).run(record)
    if record != "summary":
        len(result.requests)
    return _resident()


def _main() -> int:
    try:
        print(_serve(*sys.argv[1:]))
    except InputError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(_main())
