"""What a worker keeps for questions to the policy: policies of the past, and the dry runs of writes."""

from typing import Any

from service.app.parts import Part
from service.features.explain.dry_runs import DryRuns
from service.laboratory.analysis.sources import PastPolicies


class ExplainPart(Part):
    """Rebuilds past policies for whoever asks about them, and finds out what a write would change."""

    def __init__(self, container: Any) -> None:
        policy, stores = container.policy, container.stores
        self.past = PastPolicies(policy.shipped, policy.live.seals)
        dry_runs = DryRuns(stores.database, policy.live, stores.sessions, policy.concurrency)
        self.impact_of = dry_runs.impact_of


def past_of(container: Any) -> PastPolicies:
    """Return the past policies of the worker of ``container``."""
    part: ExplainPart = container.parts["explain"]
    return part.past
