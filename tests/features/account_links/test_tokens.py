"""Links of accounts in the database."""

from service.features.account_links import store_tokens as account_tokens
from service.records.database.transactions import Database
from tests.features.account_links.conftest import Mailing


async def test_a_link_replaces_the_one_before_however_often_its_statement_was_prepared(
    mailing: Mailing,
) -> None:
    person = await mailing.person(confirmed=False, email=None)
    async with Database(mailing.site.database_url) as database:
        for number in range(12):  # after five times psycopg prepares, after five more PostgreSQL plans once
            async with database.transaction() as connection:
                digest = number.to_bytes(32)
                await account_tokens.put(
                    connection, "address", person.id, digest, email="e@example.org", seconds=300
                )
    rows = mailing.execute("SELECT digest FROM sys.account_token WHERE user_id = %s", person.id)
    assert rows == [((11).to_bytes(32),)]
