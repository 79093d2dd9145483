"""Measurements of speed and memory: ratios taken side by side in one run, never a timed test.

``python -m benchmarks`` prints them, ``--out`` keeps them, ``--targets`` holds them to what is
promised, ``--smoke`` to what they were; docs/performance.md says what came out.
"""
