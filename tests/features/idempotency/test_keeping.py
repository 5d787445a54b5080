"""What is kept of requests with a key, with which transaction, and for how long."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from service.authn.passwords import Passwords
from service.features.idempotency.jobs import forget_answers
from service.features.idempotency.writes import Fingerprints, IdempotentWrites
from service.kernel.codes import HeldCodes
from service.kernel.identity import Caller
from service.kernel.write import AnsweredBeforeError, IdempotentWrite, KeyScope, SentAnswer, Write
from service.records import roles
from service.records.database.transactions import Database
from service.records.roles import RoleValues
from service.settings import Auth, Password
from service.web.requests.idempotency import hash_of
from tests.features.idempotency.keyed import count, key, new, was_replayed
from tests.support.inside import Inside
from tests.users.people import execute

DISK_FULL = """
CREATE FUNCTION sys.full_up() RETURNS trigger LANGUAGE plpgsql
    AS $$ BEGIN RAISE EXCEPTION 'no space is left' USING ERRCODE = 'disk_full'; END $$;
CREATE TRIGGER full_up BEFORE INSERT ON sys.idempotency_key EXECUTE FUNCTION sys.full_up();
"""
LATER = "UPDATE sys.idempotency_key SET create_time = create_time - interval '24 hours'"


async def test_neither_body_nor_key_nor_password_is_stored(shared: Inside) -> None:
    body, mine = new("/api/user"), key("a key that nobody else has")
    await shared.data("POST", "/api/user", body, mine)

    ((row,),) = execute(
        shared,
        "SELECT row_to_json(one)::text || convert_from(answer, 'UTF8') FROM sys.idempotency_key AS one "
        "WHERE path = '/api/user' ORDER BY create_time DESC LIMIT 1",
    )

    assert body["userName"] in row  # it is in the answer
    assert body["password"] not in row
    assert mine[1] not in row
    assert '"fingerprint":"$argon2id$' in row


async def test_an_answer_is_kept_for_a_day(shared: Inside) -> None:
    body, mine = new("/api/role"), key()
    await shared.data("POST", "/api/role", body, mine)
    execute(shared, LATER + " + interval '1 minute'")
    in_time = await shared.ask("POST", "/api/role", body, mine)
    execute(shared, LATER)
    too_late = await shared.ask("POST", "/api/role", body, mine)
    other = await shared.ask("POST", "/api/role", renamed := new("/api/role"), mine)
    again = await shared.ask("POST", "/api/role", renamed, mine)

    assert was_replayed(in_time)
    assert too_late.code == "conflict"
    assert (other.status, was_replayed(other), again.body) == (201, False, other.body)


async def test_what_has_expired_is_deleted_and_nothing_else(shared: Inside) -> None:
    old, recent = new("/api/role"), new("/api/role")
    await shared.data("POST", "/api/role", old, key())
    execute(shared, LATER)
    await shared.data("POST", "/api/role", recent, key())
    ((expired,),) = execute(
        shared, "SELECT count(*) FROM sys.idempotency_key WHERE create_time <= now() - interval '24 hours'"
    )
    async with Database(shared.database_url) as database:
        message = await forget_answers(database)

    assert message == f"{expired} answers deleted"
    assert expired >= 1
    ((left,),) = execute(shared, "SELECT convert_from(answer, 'UTF8') FROM sys.idempotency_key")
    assert recent["roleCode"] in left


async def test_what_can_not_be_kept_is_not_written(service: Inside) -> None:
    execute(service, DISK_FULL)
    before = [await count(service, path) for path in ("/api/user", "/api/role", "/api/menu")]

    for path in ("/api/user", "/api/role", "/api/menu"):
        assert (await service.ask("POST", path, new(path), key())).code == "unavailable"

    assert [await count(service, path) for path in ("/api/user", "/api/role", "/api/menu")] == before
    policy = await service.data("GET", "/api/policy")
    execute(service, "DROP TRIGGER full_up ON sys.idempotency_key")
    made = await service.data("POST", "/api/menu", new("/api/menu"), key())
    assert made["policyRevision"] > policy["revision"]


@pytest.fixture
async def database(seeded_database_url: str) -> AsyncIterator[Database]:
    """A seeded database of the test's own."""
    async with Database(seeded_database_url) as database:
        yield database


async def test_a_write_that_does_not_say_what_it_made_is_not_committed(database: Database) -> None:
    with pytest.raises(RuntimeError):
        async with keyed(database) as under:
            await write(database, under)
    assert await codes(database) == set()


async def test_a_repetition_that_writes_without_asking_is_not_committed(database: Database) -> None:
    async with keyed(database) as under:
        await write(database, under, "first", says_made=True)
    with pytest.raises(RuntimeError):
        async with keyed(database) as under:
            await write(database, under, "second", says_made=True)
    with pytest.raises(AnsweredBeforeError) as answered:
        async with keyed(database) as under:
            await write(database, under, "second", asks=True, says_made=True)

    assert answered.value.kept.answer == b"{}"
    assert await codes(database) == {"first"}


async def test_only_the_first_transaction_of_a_request_keeps_its_answer(database: Database) -> None:
    async with keyed(database) as under:
        await write(database, under, "first", says_made=True)
        with pytest.raises(RuntimeError):
            await write(database, under, "second", says_made=True)
        async with database.transaction() as connection:
            await roles.create(connection, "third", RoleValues(role_name="third"))
    assert await codes(database) == {"first", "third"}


async def test_fingerprints_outlive_their_signing_key_as_long_as_that_is_accepted() -> None:
    for holds_secret in (False, True):
        kept = await fingerprints(OLD).of(b"content", holds_secret=holds_secret)
        rotated = replace(NEW, jwt_previous_secret=OLD.jwt_secret, jwt_previous_until=END)
        in_time = fingerprints(rotated, now=END.timestamp() - 1)
        too_late = fingerprints(rotated, now=END.timestamp() + 1)

        assert await in_time.agrees(kept, b"content")
        assert not await in_time.agrees(kept, b"other content")
        assert not await too_late.agrees(kept, b"content")
        assert not await fingerprints(NEW).agrees(kept, b"content")


END = datetime(2030, 1, 1, tzinfo=UTC)
OLD, NEW = Auth(jwt_secret="o" * 48), Auth(jwt_secret="n" * 48)
CALLER = Caller(1, "1", "admin", "admin", "web", (), HeldCodes(["*"]), 0.0)
SCOPE = KeyScope(1, "POST", "/api/role", hash_of(b"key"))


def fingerprints(auth: Auth = OLD, now: float = 0.0) -> Fingerprints:
    cheap = Password(argon2_memory=8, argon2_time=1)
    return Fingerprints(auth, Passwords(cheap), lambda: now)


def writes_of(database: Database) -> IdempotentWrites:
    return IdempotentWrites(database, fingerprints())


def keyed(database: Database) -> AbstractAsyncContextManager[IdempotentWrite]:
    """Let the block make the write of a request with a key."""

    def answer(_saved: object) -> SentAnswer:
        return SentAnswer(201, {}, b"{}")

    return writes_of(database).write(SCOPE, b"content", answer, holds_secret=False)


async def write(
    database: Database,
    under: IdempotentWrite,
    code: str = "keeper",
    *,
    asks: bool = False,
    says_made: bool = False,
) -> None:
    async with database.transaction(Write(CALLER, idempotent=under)) as connection:
        if asks:
            under.authorized()
        await roles.create(connection, code, RoleValues(role_name=code))
        if says_made:
            await under.made(code)


async def codes(database: Database) -> set[str]:
    """Return the codes of the roles that tests have made."""
    async with database.snapshot() as connection:
        listed = await roles.page(connection, roles.RoleFilter(), page=1, size=200)
    return {
        role.role_code for role in listed.items if role.role_code in ("keeper", "first", "second", "third")
    }
