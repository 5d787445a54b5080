"""The hub of a worker, with what it says of those that follow."""

from collections.abc import Collection, Iterator
from typing import Any

from service.app.parts import Part
from service.features.follower.followers import FollowerFacts
from service.features.follower.hub import Hub
from service.kernel.metrics import Sample


class FollowerPart(Part):
    """Keeps the hub. Writes wait for the followers where the setting ``policy.await_followers`` says so."""

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
        )
        if patience:
            self.followed = self.hub.followed

    async def stored_samples(self) -> list[Sample]:
        """Return what the session store knows of the followers."""
        return list(samples_of_followers(await self.hub.followers(), self.hub.now()))


def samples_of_followers(followers: Collection[FollowerFacts], now: float) -> Iterator[Sample]:
    """Yield the samples of those that follow; ``now`` is the time by which their leases are told."""
    living = [each.revision for each in followers if each.may_decide(now)]
    yield Sample("portcullis_followers", len(living), {})
    yield Sample("portcullis_followers_lapsed", len(followers) - len(living), {})
    if revisions := list(filter(None, living)):  # one that has just begun has none yet
        yield Sample("portcullis_followers_lowest_revision", min(revisions), {})
