"""A process that sends the mails that wait, to be killed."""

import asyncio
from collections.abc import Mapping

from service.features.notices.sending import Sending
from service.features.second_factors.sealing import FactorKeys
from service.records.database.transactions import Database
from service.settings import load


def run(url: str, variables: Mapping[str, str]) -> None:
    """Send the mails of the database at ``url``."""
    settings = load(variables)
    asyncio.run(Sending(settings, FactorKeys.of(settings.auth)).run(Database(url, timeout=5.0)))
