"""``portcullis admin reset-password``: the way back in, whatever has happened."""

import asyncio
import json
import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from io import StringIO
from pathlib import Path
from typing import Any

import psycopg
import pytest

from service.__main__ import main
from service.errors import Unavailable
from service.features.embedded.stores import EmbeddedStores
from service.kernel.coded_sentences import Sentence
from service.keyspace import SessionStore
from service.settings import Auth, Redis
from tests.log_reading.entries import person
from tests.service.conftest import variables_for
from tests.support import command_process
from tests.support.databases import NewDatabase
from tests.support.inside import Inside, inside_published
from tests.support.running import PATIENCE, Ended, environment, portcullis
from tests.support.seeded import ADMINISTRATOR, ADMINISTRATOR_PASSWORD
from tests.web.driver import Answer

NEW = "five wary herons"
LOGIN = "/api/auth/login"
MADE_OF_KNOWN_WORDS = (
    "The password must not consist of your name, address or phone number, or words of this service or "
    "your organization"
)


class Site:
    """A service that counts three logins of an account, and the operator beside it."""

    def __init__(self, service: Inside, folder: Path, variables: dict[str, str]) -> None:
        self.service = service
        self._folder = folder
        self._variables = variables

    async def reset(self, *options: str, name: str = ADMINISTRATOR, password: str = NEW) -> Ended:
        return await asyncio.to_thread(
            portcullis,
            self._folder,
            "admin",
            "reset-password",
            name,
            *options,
            given=f"{password}\n",
            **self._variables,
        )

    async def reset_factors(self, name: str = ADMINISTRATOR) -> Ended:
        command = ("admin", "reset-factors", name)
        return await asyncio.to_thread(portcullis, self._folder, *command, **self._variables)

    def here(self, command: str, patch: pytest.MonkeyPatch) -> int:
        """Run a command about the administrator in this process."""
        for name, value in ({"PORTCULLIS_CONFIG": ""} | self._variables).items():
            patch.setenv(name, value)
        return main(["admin", command, ADMINISTRATOR])

    async def log_in(self, password: str, agent: str = "") -> Answer:
        body = {"userName": ADMINISTRATOR, "password": password}
        # Another device than the one whose login has succeeded.
        return await self.service.ask("POST", LOGIN, body, ("User-Agent", agent) if agent else ("X-None", ""))

    def execute(self, statement: str) -> list[tuple[Any, ...]]:
        with psycopg.connect(self._variables["DATABASE_URL"]) as connection:
            done = connection.execute(statement.encode())
            return done.fetchall() if done.description else []

    def entered(self) -> list[tuple[Any, ...]]:
        """What the login log says that the operator has done."""
        return self.execute(
            "SELECT event, outcome, user_id, user_name FROM sys.login_log"
            " WHERE reason = 'operator' ORDER BY id"
        )

    def operations(self) -> list[tuple[Any, ...]]:
        """What the operation log says of commands."""
        return self.execute("SELECT action, url, status, targets FROM sys.operation_log WHERE method = 'CLI'")

    @asynccontextmanager
    async def store(self) -> AsyncIterator[SessionStore]:
        async with SessionStore(Redis(url=self._variables["REDIS_URL"]), Auth()) as store:
            yield store


@pytest.fixture
async def site(
    new_database: NewDatabase, published_template: str, redis_url: str, tmp_path: Path
) -> AsyncIterator[Site]:
    url = new_database(published_template)
    async with inside_published(url, redis_url, PORTCULLIS_THROTTLE__LOGIN_ACCOUNT="3") as service:
        yield Site(service, tmp_path, variables_for(url, redis_url))


async def test_a_reset_replaces_the_password_ends_the_sessions_and_is_told_without_the_password(
    site: Site,
) -> None:
    done = await site.reset()

    assert done.status == 0, done.errors
    assert done.output == "The password of admin, id 1, is set. Ended: 1 session.\n"
    event = json.loads(done.errors)
    assert (event["event"], event["event_type"], bool(event["operator"])) == (
        "the password of a user was reset by the operator",
        "security",
        True,
    )
    assert (event["login_id"], event["user_name"], event["enabled"]) == ("1", "admin", False)
    assert site.operations() == [("reset a password", "portcullis admin reset-password", 200, ["user:admin"])]
    assert NEW not in done.errors
    assert (await site.service.ask("GET", "/api/user/info")).code == "refresh_required"
    assert (await site.log_in(ADMINISTRATOR_PASSWORD)).code == "login_failed"
    assert (await site.log_in(NEW)).status == 200


@pytest.mark.parametrize("command", ["reset-password", "reset-factors"])
async def test_what_was_saved_is_logged_also_where_the_session_store_fails_after_it(
    site: Site, command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    close, asked = SessionStore.close_sessions, iter((True, False))

    async def once(store: SessionStore, *given: Any, **named: Any) -> int:
        if next(asked):
            return await close(store, *given, **named)
        raise Unavailable(Sentence("The session store is unavailable"))

    monkeypatch.setattr(SessionStore, "close_sessions", once)
    monkeypatch.setattr("sys.stdin", StringIO(f"{NEW}\n"))
    status = await asyncio.to_thread(site.here, command, monkeypatch)

    assert status == 1
    assert "session store" in capsys.readouterr().err
    assert [url for _, url, *_ in site.operations()] == [f"portcullis admin {command}"]


async def test_what_the_operator_sets_is_an_initial_password(site: Site) -> None:
    site.execute("UPDATE sys.user SET password_initial = NULL")

    assert (await site.reset()).status == 0

    assert site.execute("SELECT user_name, password_initial FROM sys.user") == [("admin", "given")]


async def test_the_last_administrator_gets_in_again_however_many_doors_are_shut(site: Site) -> None:
    async with site.store() as store:
        await store.ban("1", None, "disabled")
    site.execute("UPDATE sys.user SET status = 'disabled' WHERE id = 1")
    for agent in ("", "a stranger"):  # the device that is known has a share of its own
        for _ in range(3):
            await site.log_in("a wrong password", agent)
        assert (await site.log_in(ADMINISTRATOR_PASSWORD, agent)).code == "rate_limited"

    done = await site.reset("--enable", name="ADMIN")

    assert done.status == 0, done.errors
    assert site.entered() == [("password_reset", "success", 1, "admin"), ("unban", "success", 1, "admin")]
    for agent in ("", "a stranger"):
        site.service.token = (await site.log_in(NEW, agent)).json["data"]["accessToken"]
        assert (await site.service.ask("GET", "/api/role/list")).status == 200


async def test_without_enable_nothing_but_the_password_changes_and_what_keeps_the_user_out_is_told(
    site: Site,
) -> None:
    site.execute("INSERT INTO sys.user_ban (user_id, reason, banned_by) VALUES (1, 'for a while', 1)")

    banned = await site.reset()
    site.execute("UPDATE sys.user SET status = 'disabled' WHERE id = 1")
    disabled = await site.reset()

    assert banned.output.endswith("\nThe user is still banned: use the option --enable to change that.\n")
    assert disabled.output.endswith("\nThe user is still disabled: use the option --enable to change that.\n")
    assert (await site.log_in(NEW)).code == "account_disabled"
    assert site.entered() == [("password_reset", "success", 1, "admin")] * 2


async def test_what_will_not_do_is_refused_in_words_and_changes_nothing(site: Site) -> None:
    site.execute("UPDATE sys.user SET phone = '+49 30 7391846' WHERE id = 1")
    before = site.execute("SELECT password_hash, version FROM sys.user")

    refused = [
        await site.reset(name="nobody"),
        await site.reset(password="password1"),
        await site.reset(password="portcullis-22"),
        await site.reset(password="+49 30 7391846"),
    ]

    assert [(done.status, done.output, done.errors) for done in refused] == [
        (1, "", f"portcullis: {reason}\n")
        for reason in (
            "There is no user with that name",
            "The password is too easy to guess",
            MADE_OF_KNOWN_WORDS,
            MADE_OF_KNOWN_WORDS,
        )
    ]
    assert site.execute("SELECT password_hash, version FROM sys.user") == before
    assert (await site.service.ask("GET", "/api/user/info")).status == 200


def test_without_a_store_nothing_is_half_done(own_seeded_stores: EmbeddedStores, tmp_path: Path) -> None:
    variables = variables_for(own_seeded_stores.database_url, own_seeded_stores.redis_url)
    with psycopg.connect(own_seeded_stores.database_url) as connection:
        connection.execute("UPDATE sys.user SET status = 'disabled'")
    own_seeded_stores.valkey.stop()

    def reset(*options: str) -> str:
        done = portcullis(
            tmp_path, "admin", "reset-password", "admin", *options, given=f"{NEW}\n", **variables
        )
        assert (done.status, done.output) == (1, "")
        return done.errors

    assert reset("--enable") == "portcullis: The session store is unavailable\n"
    with psycopg.connect(own_seeded_stores.database_url) as connection:
        row = connection.execute("SELECT status, version FROM sys.user").fetchone()
    assert row == ("disabled", 1)
    own_seeded_stores.postgres.stop()
    assert re.fullmatch(r"portcullis: The database is unavailable: connection is bad: [^\n]*\n", reset())


def test_on_a_terminal_the_password_is_asked_for_twice_and_not_shown(
    seeded_database_url: str, redis_url: str, tmp_path: Path
) -> None:
    def shown(*answers: str) -> str:
        ours, theirs = os.openpty()
        process = command_process.start(
            tmp_path,
            ("admin", "reset-password", "admin"),
            environment(tmp_path, **variables_for(seeded_database_url, redis_url)),
            [Path(os.ttyname(theirs))] * 3,
            new_session=True,  # leaves the terminal alone in which the tests run
        )
        screen = b""
        try:
            for question, answer in zip((b"Password: ", b"Once more: "), answers, strict=True):
                while not screen.endswith(question):
                    screen += os.read(ours, 1)
                os.write(ours, f"{answer}\n".encode())
            os.close(theirs)  # not before the command has opened it
            with suppress(OSError):  # Linux says EIO when the other end is closed
                while part := os.read(ours, 1024):
                    screen += part
            process.join(PATIENCE)
        finally:
            process.kill()
        os.close(ours)
        return screen.decode()

    assert shown(NEW, "five weary herons").endswith("portcullis: The two passwords differ\r\n")
    twice = shown(NEW, NEW)
    assert "The password of admin, id 1, is set. Ended: 0 sessions." in twice
    assert NEW not in twice


STATEMENT = """\
statements:
  - name: apart
    reason: two pairs of eyes
    no_user_holds: ["system:user:list", "system:role:list"]
"""


async def test_a_disabled_user_who_would_break_an_invariant_is_not_enabled(
    new_database: NewDatabase, published_template: str, redis_url: str, tmp_path: Path
) -> None:
    url = new_database(published_template)
    (tmp_path / "apart.yaml").write_text(STATEMENT, "utf-8")
    variables = variables_for(url, redis_url)
    variables["PORTCULLIS_POLICY__INVARIANTS"] = str(tmp_path / "apart.yaml")
    async with inside_published(url, redis_url) as service:
        site = Site(service, tmp_path, variables)
        await person(url, "reader", "auditor")
        site.execute("UPDATE sys.user SET status = 'disabled' WHERE user_name = 'reader'")
        kept = "SELECT status, password_hash FROM sys.user WHERE user_name = 'reader'"
        before = site.execute(kept)

        refused = await site.reset("--enable", name="reader")
        after = site.execute(kept)
        done = await site.reset(name="reader")

    assert refused.status == 1
    assert "an invariant of the policy: apart" in refused.errors
    assert after == before
    assert done.status == 0, done.errors


async def test_the_operator_resets_second_factors_and_ends_the_sessions(site: Site) -> None:
    site.execute(
        "INSERT INTO sys.user_factor (user_id, kind, factor_name, confirm_time, sealed_secret)"
        " VALUES (1, 'totp', 'x', now(), 'x')"
    )
    assert (await site.log_in(ADMINISTRATOR_PASSWORD)).code == "second_factor_required"
    done = await site.reset_factors()
    assert done.status == 0, done.errors
    assert done.output == (
        "admin, id 1, has no second factor. Removed: 1 factor. Ended: 1 session. The password alone opens "
        "the account now.\n"
    )
    assert json.loads(done.errors)["event"] == "the second factors of a user were reset by the operator"
    assert (await site.service.ask("GET", "/api/user/info")).code == "refresh_required"
    assert (await site.log_in(ADMINISTRATOR_PASSWORD)).status == 200
    assert site.entered() == [("factor_reset", "success", 1, "admin")]
    operation = ("reset second factors", "portcullis admin reset-factors", 200, ["user:admin"])
    assert site.operations() == [operation]
    assert (await site.reset_factors("nobody")).status == 1
