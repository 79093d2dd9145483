"""Statistics of a simulation's output: warm-up, intervals that cover or are refused, comparison, stopping.

Values of one run depend on each other, so no interval here is taken over them one by one: the unit is a
replication or a long batch.  Nothing in this package imports the engine.
"""

from fairq.output.compare import Best, Difference, best, paired_differences
from fairq.output.estimate import Estimate
from fairq.output.means import effective_size, mean_of_batches, mean_of_replications
from fairq.output.quantiles import attainment, quantile
from fairq.output.samples import batches
from fairq.output.sequential import Stopped, until_precise
from fairq.output.warmup import WarmUp, fixed_cut, mser5, no_cut

__all__ = [
    "Best",
    "Difference",
    "Estimate",
    "Stopped",
    "WarmUp",
    "attainment",
    "batches",
    "best",
    "effective_size",
    "fixed_cut",
    "mean_of_batches",
    "mean_of_replications",
    "mser5",
    "no_cut",
    "paired_differences",
    "quantile",
    "until_precise",
]
