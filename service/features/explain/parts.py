"""Parts of a worker for questions to the policy: past policies, and dry runs of writes."""

from typing import Any

from service.app.parts import Part
from service.features.explain.dry_runs import DryRuns
from service.laboratory.analysis.sources import PastPolicies


class ExplainPart(Part):
    """Rebuilds past policies, and runs dry runs of writes."""

    def __init__(self, container: Any) -> None:
        policy, stores = container.policy, container.stores
        self.past = PastPolicies(policy.shipped, policy.live.seals)
        dry_runs = DryRuns(stores.database, policy.live, stores.sessions, policy.concurrency)
        self.impact_of = dry_runs.impact_of


def past_of(container: Any) -> PastPolicies:
    """Return the past policies of the worker of ``container``."""
    part: ExplainPart = container.parts["explain"]
    return part.past
