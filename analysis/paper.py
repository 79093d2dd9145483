"""The paper's own numbers, as printed in its Section 5.2, and nothing of ours.

Table 1 and Table 2 are means over five independent replications; the paper gives no intervals.
"""

from __future__ import annotations

__all__ = ["BASELINE_C", "REPLICATIONS", "TABLE_1", "TABLE_1_COLUMNS", "TABLE_2", "Row"]

Row = tuple[str, float | None]
"""A policy of ours and its alpha in tokens."""

REPLICATIONS = 5
"""Replications behind every figure of Tables 1 and 2 ("averages over five independent replications")."""

BASELINE_C = 0.0005
"""Money per step in Table 1, the dashed line of Figure 6."""

TABLE_1_COLUMNS = (
    "profit",
    "cost",
    "cost_intrinsic",
    "cost_time",
    "cost_externality",
    "throughput",
    "gain",
    "mean_extent",
)
"""The columns of Table 1 by our names: money, tokens per step, gain of throughput over LJF in %, tokens."""

TABLE_1: dict[Row, tuple[float, ...]] = {
    ("fcfs", None): (128.73, 68.41, 32.07, 1.24, 35.10, 39.78, -0.12, 566.26),
    ("ljf", None): (163.82, 33.31, 32.07, 1.24, 0.00, 39.83, 0.00, 0.00),
    ("isjl", 50): (162.53, 34.60, 32.07, 1.20, 1.33, 41.23, 3.50, 36.62),
    ("isjl", 100): (161.10, 36.03, 32.07, 1.16, 2.79, 42.30, 6.21, 74.83),
    ("isjl", 150): (159.59, 37.55, 32.07, 1.12, 4.35, 44.00, 10.48, 111.86),
    ("isjl", 250): (156.30, 40.83, 32.07, 1.05, 7.71, 46.99, 17.97, 187.29),
    ("isjl", 300): (154.71, 42.43, 32.07, 1.03, 9.32, 47.92, 20.31, 222.57),
    ("isjl", 400): (151.31, 45.83, 32.07, 1.02, 12.74, 48.36, 21.42, 290.71),
    ("isjl", 500): (147.82, 49.32, 32.07, 1.01, 16.23, 48.61, 22.03, 361.91),
}
"""Table 1, "Profit and cost decomposition under linear pricing, n = 400, B = 50"."""

TABLE_2: dict[float, tuple[float, float, float]] = {
    50: (83.2, 1.35, 0.0162),
    100: (147.6, 2.81, 0.0190),
    150: (235.2, 4.36, 0.0185),
    250: (380.0, 7.71, 0.0203),
    300: (414.0, 9.33, 0.0225),
    400: (437.8, 12.72, 0.0291),
    500: (444.2, 16.25, 0.0366),
}
"""Table 2, "Break-even overhead for ISJL relative to LJF": alpha to steps saved, tau·E, break-even c."""
