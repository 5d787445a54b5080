"""What the decision log adds."""

from service.kernel.feature import Feature

FEATURE = Feature(
    name="decision_log",
    title="The events of the decision log, what writes them, and decisions made again",
)
