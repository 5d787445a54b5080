"""The feature of the decision log."""

from service.kernel.feature import Feature

FEATURE = Feature(
    name="decision_log",
    title="The events of the decision log, what writes them, and decisions made again",
)
