"""A worker that sends to one destination until it is killed."""

import asyncio

from service.features.export.delivery import Delivery
from service.records.database.transactions import Database
from service.settings import Destination


def run(database_url: str, to: Destination) -> None:
    """Send in the process that was made for it."""
    asyncio.run(_send(database_url, to))


async def _send(database_url: str, to: Destination) -> None:
    await Delivery(to, Database(database_url), "w1").run()
