"""Intents: what is saved with a change, so that the operation log tells of it if its entry is lost."""

import itertools
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from msgspec.structs import asdict, replace
from psycopg import sql
from psycopg.rows import dict_row

from service.audit import intents
from service.audit.intents import OVERDUE, PROMPT, Recovery
from service.audit.key_chain import Chain
from service.errors import Unavailable
from service.features.audit_proof.days import Audit
from service.features.audit_proof.writer import Writing
from service.features.embedded.stores import EmbeddedStores
from service.kernel.coded_sentences import Sentence
from service.keyspace import LogQueue, SessionStore
from service.records.database.transactions import Database
from service.records.logs.events import OperationEvent
from service.settings import Auth, Redis
from tests.audit.conftest import Place, until
from tests.log_capture.conftest import Logged, Row, watched
from tests.support.databases import database, session_store
from tests.support.inside import inside_published
from tests.support.without import is_served
from tests.web.driver import Answer

ONLY_KNOWN_LATER = ("status", "error", "params", "response", "elapsed_ms")
_numbers = itertools.count(1)

Change = Callable[["Losing"], Awaitable[Answer]]


class Losing:
    """A service whose entries go nowhere: ``events`` has them, the newest last."""

    def __init__(self, logged: Logged, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
        self.logged = logged
        self.place = place
        self.events: list[OperationEvent] = []
        app: Any = logged.inside._app
        self.hand_over: Callable[[OperationEvent], None] = app._record
        monkeypatch.setattr(app, "_record", self.events.append)

    def recovery(self, *, after: float = 0.0) -> Recovery:
        writing = Writing(self.place.database, Chain())
        return Recovery(self.place.database, self.place.store.log, writing, after=after)

    async def rows(self, table: str) -> list[Row]:
        statement = sql.SQL("SELECT * FROM sys.{}").format(sql.Identifier(table))
        cursor = await self.logged._database.cursor(row_factory=dict_row).execute(statement)
        return await cursor.fetchall()

    async def entries(self, event: OperationEvent) -> list[Row]:
        return [row for row in await self.rows("operation_log") if row["event_id"] == event.event_id]

    async def is_whole(self) -> bool:
        audit = Audit(database=self.place.database, keys=[Chain()])
        return not [fault async for day in audit.days() for fault in day.faults]


@pytest.fixture(scope="module")
async def service(stores: EmbeddedStores, published_template: str) -> AsyncIterator[tuple[Logged, Place]]:
    with database(stores, published_template) as url, session_store(stores) as redis_url:
        async with inside_published(url, redis_url) as running, watched(running, redis_url) as logged:
            async with SessionStore(Redis(url=redis_url), Auth()) as store:
                opened = Database(url, timeout=10)
                yield logged, Place(url, redis_url, opened, store)
            await opened.close()


@pytest.fixture
async def losing(service: tuple[Logged, Place], monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Losing]:
    made = Losing(*service, monkeypatch)
    yield made
    await made.logged.execute("DELETE FROM sys.operation_intent")


async def answered(losing: Losing, method: str, target: str, body: Any = None) -> Answer:
    answer = await losing.logged.ask(method, target, body)
    assert answer.status < 300, answer.body
    return answer


async def new_role(losing: Losing) -> Answer:
    code = f"lost-{next(_numbers)}"
    return await answered(losing, "POST", "/api/role", {"roleCode": code, "roleName": code})


async def disabled_user(losing: Losing) -> Answer:
    person = await losing.logged.person()
    return await answered(losing, "PUT", f"/api/user/{person.id}/status", {"status": "disabled"})


async def edited_user(losing: Losing) -> Answer:
    person = await losing.logged.person()
    return await answered(losing, "PATCH", f"/api/user/{person.id}", {"nickName": "Another"})


async def deleted_user(losing: Losing) -> Answer:
    person = await losing.logged.person("user")
    return await answered(losing, "DELETE", f"/api/user/{person.id}")


async def banned_user(losing: Losing) -> Answer:
    person = await losing.logged.person()
    return await answered(losing, "POST", f"/api/online/{person.id}/ban", {"seconds": 60})


async def new_resource(losing: Losing) -> Answer:
    name = f"lost{next(_numbers)}"
    body = {"resourceName": name, "resourceCode": name, "method": "GET", "path": f"/api/{name}"}
    return await answered(losing, "POST", "/api/resource", body)


async def new_key(losing: Losing) -> Answer:
    name = f"robot-{next(_numbers)}"
    body = {"userName": name, "nickName": name, "kind": "service"}
    made = await losing.logged.inside.data("POST", "/api/user", body)
    losing.hand_over(losing.events[-1])
    await losing.logged.execute("DELETE FROM sys.operation_intent")
    return await answered(losing, "POST", f"/api/user/{made['id']}/keys", {"name": "first"})


async def new_menu(losing: Losing) -> Answer:
    return await answered(losing, "POST", "/api/menu", {"menuType": "Menu", "title": f"M{next(_numbers)}"})


async def imported_roles(losing: Losing) -> Answer:
    code = f"lost-{next(_numbers)}"
    text = f"roleCode,roleName\r\n{code}-a,{code}-a\r\n{code}-b,{code}-b\r\n".encode()
    answer = await losing.logged.inside.ask_raw(
        "POST", "/api/role/import", text, ("Content-Type", "text/csv")
    )
    assert answer.status == 200, answer.body
    return answer


CHANGES: list[Any] = [
    new_role,
    disabled_user,
    edited_user,
    deleted_user,
    banned_user,
    new_resource,
    new_menu,
    new_key,
    pytest.param(imported_roles, marks=pytest.mark.feature("tables")),
]


@pytest.mark.parametrize("change", CHANGES)
async def test_an_intent_is_saved_with_a_change_and_deleted_with_its_entry(
    losing: Losing, change: Change
) -> None:
    await change(losing)
    own = losing.events[-1]
    (intent,) = await losing.rows("operation_intent")
    assert (intent["event_id"], intent["create_time"]) == (own.event_id, own.create_time)
    assert {"params", "response"}.isdisjoint(json.loads(intent["entry"]))

    losing.hand_over(own)

    async def is_settled() -> bool:
        return not await losing.rows("operation_intent")

    await until(is_settled)
    (entry,) = await losing.entries(own)
    assert entry["status"] == own.status


@pytest.mark.parametrize("change", CHANGES)
async def test_a_lost_entry_is_recovered_once_with_all_but_what_became_known_later(
    losing: Losing, change: Change
) -> None:
    await change(losing)
    own = losing.events[-1]
    assert [await losing.recovery().once(), await losing.recovery().once()] == [1, 0]
    (entry,) = await losing.entries(own)
    assert (entry["status"], entry["error"], entry["params"], entry["response"]) == (
        499,
        "unanswered",
        None,
        None,
    )
    expected = asdict(own)
    expected["targets"] = list(own.targets or ()) or None
    expected["changes"] = None if own.changes is None else json.loads(bytes(own.changes))
    kept = expected.keys() - {*ONLY_KNOWN_LATER, "client_ip"}
    assert {name: entry[name] for name in kept} == {name: expected[name] for name in kept}
    assert entry["targets"]
    assert entry["user_name"]
    assert entry["decision_id"]
    assert await losing.is_whole()


async def test_what_saves_no_record_leaves_no_intent(losing: Losing) -> None:
    person = await losing.logged.person()
    await answered(losing, "GET", "/api/role/list")
    await answered(losing, "POST", "/api/role?dryRun=true", {"roleCode": "dry", "roleName": "Dry"})
    await answered(losing, "PUT", f"/api/user/{person.id}/status?dryRun=true", {"status": "disabled"})
    if is_served("GET /api/role/export"):
        await answered(losing, "GET", "/api/role/export")
    await losing.logged.log_in(person)
    await answered(losing, "DELETE", f"/api/online/{person.id}")
    refused = [
        await losing.logged.ask("POST", "/api/role", {"roleCode": "admin", "roleName": "Taken"}),
        await losing.logged.ask("POST", "/api/role", {"roleCode": "No Code", "roleName": "x"}),
        await losing.logged.ask("DELETE", "/api/user/987654"),
    ]
    assert all(answer.status >= 400 for answer in refused), refused
    assert len(losing.events) == 7 + is_served("GET /api/role/export")
    assert await losing.rows("operation_intent") == []


async def test_an_own_entry_that_comes_after_the_recovered_one_is_not_written(losing: Losing) -> None:
    await new_role(losing)
    assert await losing.recovery().once() == 1
    written = (await losing.place.store.log.counts()).written
    losing.hand_over(losing.events[-1])

    async def is_done() -> bool:
        return (await losing.place.store.log.counts()).written > written

    await until(is_done)
    (entry,) = await losing.entries(losing.events[-1])
    assert entry["status"] == 499
    assert await losing.is_whole()


async def test_an_entry_of_an_older_version_that_leaves_the_intent_is_not_written_again(
    losing: Losing,
) -> None:
    await new_role(losing)
    own = losing.events[-1]
    (intent,) = await losing.rows("operation_intent")
    losing.hand_over(own)

    async def is_written() -> bool:
        return bool(await losing.entries(own))

    await until(is_written)
    await losing.logged.execute(
        "INSERT INTO sys.operation_intent VALUES (%s, %s, %s)",
        *(intent[name] for name in ("event_id", "create_time", "entry")),
    )
    assert await losing.recovery().once() == 0
    assert await losing.rows("operation_intent") == []
    (entry,) = await losing.entries(own)
    assert entry["status"] == own.status


async def test_an_entry_that_is_set_aside_leaves_no_intent(losing: Losing) -> None:
    await new_role(losing)
    unfit = replace(losing.events[-1], status=9_999)
    losing.hand_over(unfit)

    async def is_set_aside() -> bool:
        return any(str(unfit.event_id) in row["entry"] for row in await losing.rows("log_set_aside"))

    await until(is_set_aside)
    assert await losing.rows("operation_intent") == []
    assert await losing.recovery().once() == 0


async def test_an_intent_that_can_not_be_an_entry_is_set_aside_once(losing: Losing) -> None:
    await losing.logged.execute(
        "INSERT INTO sys.operation_intent VALUES (gen_random_uuid(), now(), 'no entry')"
    )
    assert [await losing.recovery().once(), await losing.recovery().once()] == [0, 0]
    assert await losing.rows("operation_intent") == []
    assert "no entry" in [row["entry"] for row in await losing.rows("log_set_aside")]


class Queue:
    """A stream of which the age of the oldest entry is given; None while the store is unavailable."""

    oldest: float | None = 0.0

    async def queue(self) -> LogQueue:
        if self.oldest is None:
            raise Unavailable(Sentence("out of reach"))
        return LogQueue(1, 100, self.oldest)


@pytest.mark.parametrize("oldest", [PROMPT + 1, None])
async def test_an_entry_is_lost_once_all_others_were_prompt_for_long(
    losing: Losing, monkeypatch: pytest.MonkeyPatch, oldest: float | None
) -> None:
    await new_role(losing)
    queue: Any = Queue()
    clock = [1000.0]
    monkeypatch.setattr(intents, "monotonic", lambda: clock[0])
    recovery = Recovery(losing.place.database, queue, Writing(losing.place.database, Chain()))

    async def look(seconds: float) -> int:
        clock[0] += seconds
        try:
            return await recovery.once()
        except Unavailable:
            return 0

    assert [await look(0), await look(OVERDUE - 1)] == [0, 0]
    queue.oldest = oldest  # entries wait, or nobody knows: its own may be among them
    assert [await look(OVERDUE), await look(OVERDUE)] == [0, 0]
    queue.oldest = 0.0
    assert [await look(1), await look(OVERDUE - 1), await look(1)] == [0, 0, 1]
