"""The hub of a worker, and metrics of its followers."""

from collections.abc import Collection, Iterator
from typing import Any

from service.app.parts import Part
from service.features.follower.followers import FollowerFacts
from service.features.follower.hub import Hub
from service.kernel.metrics import Sample
from service.records.followed_delegations import read_delegations_of


class FollowerPart(Part):
    """Keeps the hub. With the setting ``policy.await_followers``, writes wait for the followers."""

    def __init__(self, container: Any) -> None:
        settings = container.settings
        patience = settings.policy.await_followers
        self.hub = Hub(
            container.stores.database,
            container.stores.sessions,
            container.revisions,
            container.sign_in.tokens,
            settings.auth,
            patience=patience,
            delegations=read_delegations_of(settings.features.off),
        )
        if patience:
            self.followed = self.hub.followed

    async def stored_samples(self) -> list[Sample]:
        return list(samples_of_followers(await self.hub.followers(), self.hub.now()))


def samples_of_followers(followers: Collection[FollowerFacts], now: float) -> Iterator[Sample]:
    """Yield the samples of the followers; ``now`` is the time of their leases."""
    living = [each.revision for each in followers if each.may_decide(now)]
    yield Sample("portcullis_followers", len(living), {})
    yield Sample("portcullis_followers_lapsed", len(followers) - len(living), {})
    if revisions := list(filter(None, living)):  # a new follower has no revision
        yield Sample("portcullis_followers_lowest_revision", min(revisions), {})
