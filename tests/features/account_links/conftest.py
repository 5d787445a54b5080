"""A service that sends mail, shared by the tests of a file; tests read the mails in its outbox."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from itertools import count
from typing import Any, Final

import pytest

from service.authn.proving import ClosedPasswords
from service.features.account_links.forgotten_passwords import answer_requests
from service.features.account_links.links import AccountLinks
from service.features.embedded.stores import EmbeddedStores
from service.features.notices.notices import Notices
from service.features.notices.outbox import Outbox, about
from service.features.second_factors.sealing import FactorKeys
from service.records.database.transactions import Database
from service.settings import Oidc, load
from tests.features.second_factors.conftest import SETTINGS, Person, public
from tests.support.inside import Inside
from tests.support.inside_fixtures import inside_own
from tests.support.waiting import eventually_here
from tests.web.driver import Answer

NEW: Final = "five wary otters at noon"
MAILING: Final = SETTINGS | {
    "PORTCULLIS_MAIL__URL": "smtp://127.0.0.1:9",
    "PORTCULLIS_MAIL__FROM": "portcullis@example.com",
    "PORTCULLIS_THROTTLE__RESET_ADDRESS": "1000000",
}
_numbers = count(1)


@dataclass(frozen=True)
class Mail:
    """A mail in the outbox."""

    kind: str
    recipient: str
    facts: dict[str, str]
    link: str

    @property
    def token(self) -> str:
        """The token of the link."""
        return self.link.partition("?token=")[2]


@dataclass
class Mailing:
    """A service that sends mail."""

    site: Inside

    @property
    def links(self) -> AccountLinks:
        """What makes links, as the job does."""
        settings = load({"PORTCULLIS_CONFIG": "", **MAILING})
        outbox = Outbox(settings, FactorKeys.of(settings.auth))
        return AccountLinks(outbox, settings.server.public_url, settings.auth.link_timeout)

    def execute(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """Run a statement past the service."""
        cursor = self.site.beside().execute(statement.encode(), values)
        return cursor.fetchall() if cursor.description else []

    def mails(self, user_id: int, kind: str | None = None) -> list[Mail]:
        """Return the mails about a user, the oldest first, of a kind or of all."""
        keys = FactorKeys(SETTINGS["PORTCULLIS_AUTH__FACTOR_KEY"])
        rows = self.execute(
            "SELECT kind, recipient, facts, sealed_link, message_id FROM sys.mail"
            " WHERE user_id = %s ORDER BY id",
            user_id,
        )
        return [
            Mail(row[0], row[1], row[2], keys.open(row[3], about(row[4])).decode() if row[3] else "")
            for row in rows
            if kind in (None, row[0])
        ]

    async def person(self, *, confirmed: bool = True, **values: Any) -> Person:
        """Return a user of the test's own, whose address is confirmed."""
        name = f"mailed-{next(_numbers)}"
        body = {"userName": name, "nickName": name, "email": f"{name}@example.org"} | values
        if not {"invite", "kind"} & values.keys():
            body["password"] = "seven wary herons at dusk"
        made = await self.site.data("POST", "/api/user", body)
        if confirmed:
            self.execute('UPDATE sys."user" SET recovery_email = email WHERE id = %s', made["id"])
        return Person(self.site, made["id"], name)

    async def owned(self, **values: Any) -> Person:
        """Return a person who has agreed to the own address, at which no link was opened."""
        person = await self.person(confirmed=False, **values)
        self.execute('UPDATE sys."user" SET agreed_email = email WHERE id = %s', person.id)
        return person

    async def ask_for_link(self, user_name: str) -> Answer:
        """Ask for a link for a forgotten password."""
        return await self.post("/api/auth/password-reset", userName=user_name)

    async def link(self, person: Person) -> str:
        """Return the token of the link that a person has asked for and got."""
        assert (await self.ask_for_link(person.name)).status == 202
        await self.answer_requests()
        return self.mails(person.id, "password_reset")[-1].token

    async def answer_requests(self) -> None:
        """Run the job that mails links, if the service has not."""
        async with Database(self.site.database_url) as opened:
            await answer_requests(opened, self.links, Notices(), ClosedPasswords(Oidc()))
        # What the service's own job has taken is gone, and mailed, with its commit.
        assert await eventually_here(lambda: not self.execute("SELECT 1 FROM sys.reset_request"))

    async def confirm(self, token: str, password: str = NEW, **proof: Any) -> Answer:
        """Set a password by a link."""
        return await self.post("/api/auth/password-reset/confirm", token=token, password=password, **proof)

    async def post(self, target: str, **body: Any) -> Answer:
        """Send a request without a token."""
        return await public(self.site, target, body)


def shape(answer: Answer) -> tuple[int, Any, list[str]]:
    """Return all of an answer but the id of its request."""
    body = (
        {name: value for name, value in answer.json.items() if name != "requestId"} if answer.body else None
    )
    return answer.status, body, sorted(name for name, _ in answer.headers)


@pytest.fixture(scope="module")
async def mailing(stores: EmbeddedStores, published_template: str) -> AsyncIterator[Mailing]:
    """The service of a file; each test has a person of its own."""
    async with inside_own(stores, published_template, **MAILING) as running:
        yield Mailing(running)
