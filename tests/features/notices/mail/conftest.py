"""An installation that sends mails: its settings, its outbox, and the rows of it."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from sqlalchemy import text

from service.features.notices.letters import Letter
from service.features.notices.outbox import Outbox
from service.features.second_factors.sealing import FactorKeys
from service.records.database.transactions import Database
from service.settings import Settings, load

KEY = "outbox-key-of-the-tests-0123456789ab"
MAILING = {
    "PORTCULLIS_CONFIG": "",
    "PORTCULLIS_MAIL__URL": "smtp://127.0.0.1:2525",
    "PORTCULLIS_MAIL__FROM": "portcullis@example.com",
    "PORTCULLIS_SERVER__PUBLIC_URL": "https://admin.example.com",
    "PORTCULLIS_AUTH__FACTOR_KEY": KEY,
}
SITE = MAILING["PORTCULLIS_SERVER__PUBLIC_URL"]
LINK = f"{SITE}/console/#/invitation?token=V3ryS3cretT0ken"


def mailing(**variables: str) -> Settings:
    return load(MAILING | {f"PORTCULLIS_{name}": value for name, value in variables.items()})


def outbox_of(settings: Settings) -> Outbox:
    return Outbox(settings, FactorKeys.of(settings.auth))


def invitation(recipient: str = "heron@example.org", user_id: int | None = None) -> Letter:
    facts = {"user_name": "heron", "until": "2026-11-24 16:00 UTC"}
    return Letter("invitation", recipient, user_id, facts)


async def rows(database: Database, columns: str = "*") -> list[dict[str, Any]]:
    """Return the mails by id, with these columns."""
    async with database.transaction() as connection:
        result = await connection.execute(text(f"SELECT {columns} FROM sys.mail ORDER BY id"))
        return [dict(row) for row in result.mappings()]


async def execute(database: Database, statement: str) -> None:
    async with database.transaction() as connection:
        await connection.execute(text(statement))


@pytest.fixture
async def database(seeded_database_url: str) -> AsyncIterator[Database]:
    async with Database(seeded_database_url, timeout=5.0) as database:
        yield database
