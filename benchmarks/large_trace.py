"""Memory and time to describe a made-up trace of 1 GB in the shape of the Azure 2024 traces.

    python -m benchmarks.large_trace [GIGABYTES]

Prints rows, seconds and the largest resident memory of the process that described it; ends with
status 1 where that is over 2.5 GB.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

__all__ = ["measure", "write_azure_2024"]

LIMIT = 2.5e9
_PIECE = 200_000


def write_azure_2024(path: Path, size: float, seed: int = 2024) -> int:
    """Write at least `size` bytes of rows: zone, microseconds, whole seconds without a fraction, few ties.

    Returns:
        the number of rows.
    """
    generator, rows, now = np.random.default_rng(seed), 0, np.int64(0)
    start = np.datetime64("2024-05-10T00:00:00", "us")
    with path.open("w", newline="\n") as stream:
        stream.write("TIMESTAMP,ContextTokens,GeneratedTokens\n")
        while stream.tell() < size:
            micros = now + np.cumsum(generator.exponential(22_000, _PIECE).astype(np.int64))
            now = micros[-1]
            micros[1000 :: _PIECE // 100] -= micros[1000 :: _PIECE // 100] % 1_000_000
            micros.sort()
            texts = np.datetime_as_string(start + micros)
            prompt = 1 + generator.gamma(0.8, 2_000, _PIECE).astype(np.int64)
            output = 1 + generator.gamma(1.0, 100, _PIECE).astype(np.int64)
            for text, first, second in zip(texts.tolist(), prompt.tolist(), output.tolist(), strict=True):
                moment = text.replace("T", " ").removesuffix(".000000")
                stream.write(f"{moment}+00:00,{first},{second}\n")
            rows += _PIECE
    return rows


def measure(path: Path) -> tuple[dict[str, object], float, float]:
    """The description of the file at `path`, made in a process of its own, its seconds and its peak bytes."""
    begin = time.perf_counter()
    command = [sys.executable, "-m", "fairq.cli", "trace", str(path), "--json"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603 - our own command
    seconds = time.perf_counter() - begin
    return json.loads(done.stdout), seconds, 1024.0 * resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss


def main() -> int:
    """Make the file, describe it, say what it took."""
    size = 1e9 * float(sys.argv[1] if len(sys.argv) > 1 else 1)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "azure_2024.csv")
        rows = write_azure_2024(path, size)
        print(f"{path.stat().st_size / 1e9:.2f} GB, {rows:,} rows")
        description, seconds, peak = measure(path)
    print(f"described {description['requests']:,} requests in {seconds:.0f} s with {peak / 1e9:.2f} GB")
    return int(peak > LIMIT or description["requests"] != rows)


if __name__ == "__main__":
    sys.exit(main())
