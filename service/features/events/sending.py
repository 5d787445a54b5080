"""A test event, sent at once to one destination."""

from uuid import uuid4

from service.features.events.delivery import body_of, message_id
from service.features.events.store import RightsEvent
from service.features.webhooks.posting import post
from service.kernel.clock import now
from service.settings import EventDestination


async def send_test(destination: EventDestination) -> None:
    """Post an event of the kind ``test``, which is not recorded; raises ``PostFault``."""
    event = RightsEvent(0, uuid4(), "test", None, now(), {})
    await post(destination, message_id(event), body_of(event, None, destination))
