"""What no schedule can beat: bounds that need no engine.

They hold for one worker on the token clock (a step is the unit of time) with service that is not
interrupted; `fairq.theory` never imports the engine.
"""

from fairq.theory.bounds import Bound, makespan_lower_bound

__all__ = ["Bound", "makespan_lower_bound"]
