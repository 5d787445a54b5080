"""Parts of a worker for requests, and for the requestable roles named in refusals."""

from typing import Any

from service.administration.people import People
from service.app.parts import Part
from service.features.access_requests import store
from service.features.access_requests.requestable import RequestableRoles
from service.features.access_requests.requests import AccessRequests
from service.kernel.metrics import Sample
from service.records.database.transactions import Connection


class RequestsPart(Part):
    """Requests for roles, and the finder of requestable roles for refusals."""

    def __init__(self, container: Any) -> None:
        changes, stores = container.administration, container.stores
        self.requests = AccessRequests(
            changes.units,
            stores.sessions.synchronized.now,
            changes.notices,
            container.policy.live.invariants,
            People(container.settings.policy.takeover_days),
        )
        self.requestable = RequestableRoles(stores.database).opening
        self.database_samples = _samples


async def _samples(connection: Connection) -> list[Sample]:
    return samples_of_emergencies(len(await store.open_emergencies(connection)))


def samples_of_emergencies(unclosed: int) -> list[Sample]:
    """Return the sample of the number of emergencies that are not closed."""
    return [Sample("portcullis_emergencies_open", unclosed, {})]
