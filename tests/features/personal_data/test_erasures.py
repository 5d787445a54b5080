"""Erasures by the API: who may erase whom, what stays, and that the logs still verify."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any, Final

import psycopg
import pytest
import redis

from service.audit.key_chain import Chain
from service.authn.opening import SessionOpening
from service.authn.proving import PasswordProof
from service.errors import Unavailable
from service.features.audit_proof.days import Audit
from service.features.embedded.stores import EmbeddedStores
from service.features.personal_data.erasures import Passes
from service.features.personal_data.inventory import inventory
from service.keyspace import SessionStore
from service.records.database.transactions import Database
from service.settings import Auth, Redis
from tests.features.personal_data.searching import ADDRESS, AGENT, EMAIL, NAME, NICK, PHONE, Search
from tests.features.second_factors.conftest import SETTINGS, Person
from tests.support.inside import Inside
from tests.support.inside_fixtures import inside_own
from tests.support.members import Member, member, query, until_row
from tests.support.seeded import ADMINISTRATOR_PASSWORD
from tests.web.driver import JSON, Answer

KEY: Final = "a key that only the service has, and an auditor"
CODE: Final = "system:user:erase"
REASON: Final = "Request of 12 November"
CLIENT: Final = (("User-Agent", AGENT), JSON)
PASSWORD: Final = "four wary herons"


@pytest.fixture(scope="module")
async def site(stores: EmbeddedStores, published_template: str) -> AsyncIterator[Inside]:
    """A service whose administrator has two factors."""
    chained = SETTINGS | {
        "PORTCULLIS_OPLOG__CHAIN_KEY": KEY,
        "PORTCULLIS_POLICY__ASSURANCE": "administrators",
    }
    async with inside_own(stores, published_template, **chained) as running:
        yield running


@pytest.fixture(scope="module")
async def admin(site: Inside) -> Person:
    """The administrator, logged in by two factors."""
    person = Person(site, 1, "admin", site.token or "", password=ADMINISTRATOR_PASSWORD)
    await person.enrol_app()
    await person.log_in_by_app()
    site.token = person.token
    return person


async def erase(
    site: Inside, user_id: int, reason: str = REASON, *, tag: str | None = None, token: str | None = None
) -> Answer:
    """Erase a user, by default with the tag of the plan."""
    path = f"/api/user/{user_id}/erasure"
    if tag is None:
        tag = (await site.ask("GET", path)).header("etag")
    return await site.ask("POST", path, {"reason": reason}, ("If-Match", str(tag)), token=token)


async def pass_again(site: Inside, user_id: int) -> int | None:
    """Run a further pass, as the job does."""
    async with (
        Database(site.database_url, pool_size=2) as database,
        SessionStore(Redis(url=site.redis_url), Auth()) as store,
    ):
        return await Passes(database, Chain(KEY), store.close_sessions).run(user_id)


async def faults(site: Inside) -> list[str]:
    """Return the faults of both logs that verification finds."""
    async with Database(site.database_url, pool_size=2) as database:
        audit = Audit(database=database, keys=[Chain(KEY), Chain()])
        return [fault async for day in audit.days() for fault in day.faults]


async def acting(site: Inside) -> int:
    """Create a person who acts, and about whom others act; return the number."""
    order = {"userName": NAME, "nickName": NICK, "password": PASSWORD, "email": EMAIL, "phone": PHONE}
    user_id: int = (await site.data("POST", "/api/user", order))["id"]

    async def from_client(method: str, target: str, body: Any, token: str = "none") -> Answer:
        return await site.ask_from(
            ADDRESS, method, target, *CLIENT, body=json.dumps(body).encode(), token=token
        )

    await from_client("POST", "/api/auth/login", {"userName": NAME, "password": "wrong"})
    await from_client("POST", "/api/auth/login", {"userName": NAME.upper(), "password": "wrong"})
    answer = await from_client("POST", "/api/auth/login", {"userName": NAME, "password": PASSWORD})
    token = answer.json["data"]["accessToken"]
    key = {"name": f"of {NICK}", "scopes": ["system:user:list"], "expiresIn": 3600}
    await from_client("POST", "/api/user/profile/keys", key, token)
    await from_client("DELETE", "/api/user/9999", {}, token)
    await from_client("POST", "/api/auth/password/forgotten", {"userName": NAME})
    await site.data("PATCH", f"/api/user/{user_id}", {"phone": f"{PHONE}9", "avatar": "https://a.example/p"})
    await site.data("PATCH", f"/api/user/{user_id}", {"phone": PHONE})
    role = {"roleName": "Books", "roleCode": "books", "description": f"Asked for by {NICK} ({EMAIL})"}
    await site.data("POST", "/api/role", role, ("Idempotency-Key", "one"))
    await site.ask("POST", f"/api/user/{user_id}/ban", {"reason": f"{NAME} calls {PHONE}", "seconds": 60})
    await until_row(
        site, f"SELECT count(*) >= 3 FROM sys.login_log WHERE lower(user_name) = '{NAME}'", (True,)
    )
    await until_row(site, "SELECT 1 FROM sys.operation_log WHERE url = '/api/role'", (1,))
    return user_id


@pytest.mark.usefixtures("admin")
async def test_an_erasure_takes_a_person_out_of_tables_logs_keys_and_answers(
    site: Inside, stores: EmbeddedStores
) -> None:
    user_id = await acting(site)
    name = str(psycopg.conninfo.conninfo_to_dict(site.database_url)["dbname"])
    assert await faults(site) == []
    plan = await site.data("GET", f"/api/user/{user_id}/erasure")
    assert {NAME, NICK, EMAIL, PHONE, f"{PHONE}9"} <= {*plan["searched"]}
    assert plan["userName"] == NAME
    assert {"user", "user_login", "role"} <= {each["table"] for each in plan["tables"]}
    assert all(each["erased"] and not each["older"] for each in plan["logs"])

    answer = await erase(site, user_id)
    assert answer.status == 200, answer.body
    assert answer.json["data"]["changed"] > 0

    done = f"SELECT 1 FROM sys.operation_log WHERE url = '/api/user/{user_id}/erasure' AND kind = 'DELETE'"
    await until_row(site, done, (1,))
    await pass_again(site, user_id)
    assert await pass_again(site, user_id) == 0
    with psycopg.connect(stores.url_of(name, administrator=True), autocommit=True) as connection:
        left = Search(connection).columns()
    described = {("operation_log", "changes")}
    assert left <= {("erasure", each) for each in ("names", "searched", "pattern")} | described
    # The changes of a role and of a key, which no user's target has, are chained as they are.
    by_name = "SELECT DISTINCT url, salts IS NULL FROM sys.operation_log WHERE changes::text ~* %s ORDER BY 1"
    assert await query(site, by_name, f"{NAME}|{NICK}") == [
        ("/api/role", False),
        ("/api/user/profile/keys", False),
    ]
    ((entries, _),) = [(each["plain"], each) for each in plan["logs"] if each["log"] == "operation_log"]
    assert entries == 2
    assert await faults(site) == []
    assert keys_with(site, NAME, NICK, EMAIL, AGENT) == []

    for path in ("/api/log/operation/list", "/api/log/login/list", "/api/user/list", "/api/role/list"):
        shown = (await site.ask("GET", f"{path}?size=100")).body.decode()
        assert not [value for value in (NAME, NICK, EMAIL, PHONE, AGENT) if value in shown], path
    ((params, targets, author),) = await query(
        site,
        "SELECT params, targets, user_id FROM sys.operation_log WHERE url = %s AND kind = 'DELETE'",
        f"/api/user/{user_id}/erasure",
    )
    kept = {"body": {"reason": REASON}, "path": {"id": user_id}}
    assert (params, targets, author) == (kept, [f"user:#{user_id}"], 1)

    answer = await erase(site, user_id)
    assert answer.status == 200, answer.body


def keys_with(site: Inside, *values: str) -> list[str]:
    """Return the keys of the session store whose name or content has one of ``values``."""
    with redis.Redis.from_url(site.redis_url) as client:
        holding = []
        for key in client.scan_iter("*"):
            content = key + (client.dump(key) or b"")
            if any(value.encode() in content for value in values):
                holding.append(key.decode())
        return holding


@pytest.mark.usefixtures("admin")
async def test_a_deleted_user_is_erased_by_number_unless_the_name_is_another_users(
    site: Inside,
) -> None:
    order = {"userName": "brolga", "nickName": "Br", "password": PASSWORD, "phone": "+49 30 555 777"}
    user_id = (await site.data("POST", "/api/user", order))["id"]
    await site.log_in("brolga", PASSWORD)
    await site.data("DELETE", f"/api/user/{user_id}")
    await until_row(
        site,
        f"SELECT 1 FROM sys.operation_log WHERE url = '/api/user/{user_id}' AND kind = 'DELETE'",
        (1,),
    )
    plan = await site.data("GET", f"/api/user/{user_id}/erasure")
    assert (plan["userName"], plan["shared"]) == (None, ["Br"])
    assert {"brolga", "+49 30 555 777"} <= {*plan["searched"]}

    later = await member(site, "brolga2", CODE)
    await query(
        site, "UPDATE sys.\"user\" SET user_name = 'brolga', nick_name = 'B' WHERE id = %s", later.user_id
    )
    plan = await site.data("GET", f"/api/user/{user_id}/erasure")
    assert "brolga" in plan["shared"]
    assert "brolga" not in plan["searched"]

    assert (await erase(site, user_id)).status == 200
    actors = "SELECT DISTINCT user_name FROM sys.login_log WHERE user_id = %s"
    assert await query(site, actors, user_id) == [(None,)]
    assert await faults(site) == []


async def test_only_a_fresh_session_with_two_factors_erases_and_nobody_the_own_account(
    site: Inside, admin: Person
) -> None:
    ann = await member(site, "annacuckoo", CODE, "system:user:list")
    path = f"/api/user/{ann.user_id}/erasure"

    async def code_of(caller: Member | Person, target: int, **more: Any) -> tuple[int, str]:
        answer = await erase(site, target, token=caller.token, **more)
        return answer.status, answer.json.get("code", "")

    assert await code_of(ann, 1, tag='"1"') == (401, "insufficient_user_authentication")
    assert await code_of(admin, 1, tag='"1"') == (409, "conflict")
    strong = Person(site, ann.user_id, "annacuckoo", ann.token, password=ADMINISTRATOR_PASSWORD)
    await strong.enrol_app()
    await strong.log_in_by_app()
    assert await code_of(strong, 1, tag='"1"') == (403, "permission_denied")
    assert await code_of(admin, ann.user_id, tag='"77"') == (412, "precondition_failed")
    assert await code_of(admin, 987654, tag='"0"') == (404, "not_found")
    named = await erase(site, ann.user_id, "Asked by Annacuckoo")
    assert (named.status, named.json["errors"][0]["field"]) == (422, "reason")
    without = await site.ask("POST", path, {"reason": REASON})
    assert without.status == 400
    for text in ("", " "):
        assert (await erase(site, ann.user_id, text)).status == 422
    assert await query(site, 'SELECT 1 FROM sys."user" WHERE id = %s', ann.user_id) == [(1,)]


async def test_a_caller_with_a_second_factor_erases_by_both_of_them(
    stores: EmbeddedStores, published_template: str
) -> None:
    async with inside_own(stores, published_template, **SETTINGS) as plain:
        first, second = [await member(plain, name) for name in ("annawren", "annarobin")]
        admin = Person(plain, 1, "admin", plain.token or "", password=ADMINISTRATOR_PASSWORD)
        assert (await erase(plain, first.user_id)).status == 200
        await admin.enrol_app()
        refused = await erase(plain, second.user_id, token=admin.token, tag='"1"')
        assert (refused.status, refused.code) == (401, "insufficient_user_authentication")
        assert refused.json["required"] == ["@two-factors-within-15m"]
        await admin.log_in_by_app()
        plain.token = admin.token
        assert (await erase(plain, second.user_id)).status == 200


class Held:
    """Holds the first call of a method, before or after it has run, until it is let go."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, kind: type, name: str, *, after: bool) -> None:
        self.reached, self.free = asyncio.Event(), asyncio.Event()
        real = getattr(kind, name)

        async def held(*given: Any, **named: Any) -> Any:
            first = not self.reached.is_set()
            if first and not after:
                await self.wait()
            result = await real(*given, **named)
            if first and after:
                await self.wait()
            return result

        monkeypatch.setattr(kind, name, held)

    async def wait(self) -> None:
        """Wait until the erasure is over."""
        self.reached.set()
        await self.free.wait()


@pytest.mark.usefixtures("admin")
@pytest.mark.parametrize(
    "held_at",
    [
        (PasswordProof, "compare", False),
        (PasswordProof, "compare", True),
        (SessionStore, "open_session", False),
        (SessionStore, "open_session", True),
        (SessionOpening, "open", True),
    ],
)
async def test_a_login_in_flight_opens_no_session_and_leaves_nothing(
    site: Inside,
    stores: EmbeddedStores,
    monkeypatch: pytest.MonkeyPatch,
    held_at: tuple[type, str, bool],
) -> None:
    kind, name, after = held_at
    bird = f"in-flight-{kind.__name__}-{name}-{after}".lower().replace("_", "-")
    agent = f"Zyxbrowser/{bird}"
    order = {"userName": bird, "nickName": bird.upper(), "password": PASSWORD}
    user_id = (await site.data("POST", "/api/user", order))["id"]
    body = json.dumps({"userName": bird, "password": PASSWORD}).encode()
    held = Held(monkeypatch, kind, name, after=after)
    login = asyncio.create_task(
        site.ask_from(
            ADDRESS, "POST", "/api/auth/login", ("User-Agent", agent), JSON, body=body, token="none"
        )
    )
    await held.reached.wait()
    assert (await erase(site, user_id)).status == 200
    held.free.set()
    answer = await login
    if answer.status == 200:
        token = answer.json["data"]["accessToken"]
        assert (await site.ask("GET", "/api/user/info", token=token)).status == 401
    else:
        assert (answer.status, answer.code) in {(401, "login_failed"), (503, "unavailable")}

    entry = f"SELECT count(*) FROM sys.login_log WHERE request_id = '{answer.header('x-request-id')}'"
    await until_row(site, entry, (1,))
    while await pass_again(site, user_id):
        pass
    database = str(psycopg.conninfo.conninfo_to_dict(site.database_url)["dbname"])
    with psycopg.connect(stores.url_of(database, administrator=True), autocommit=True) as connection:
        running = {("erasure", each) for each in ("names", "searched", "pattern")}
        assert Search(connection, (bird, agent)).columns() <= running
        for kept in inventory():
            if kept.rows == "account" and kept.owner:
                count = f'SELECT count(*) FROM sys."{kept.table}" WHERE {kept.owner} = {user_id}'
                assert connection.execute(count.encode()).fetchone() == (0,), kept.table
    assert keys_with(site, bird, agent) == []
    assert await faults(site) == []


@pytest.mark.usefixtures("admin")
async def test_an_interrupted_erasure_goes_on(site: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the deletion was committed, and after each table."""
    wren = await member(site, "wrenbird", "system:user:list")
    await query(site, "INSERT INTO sys.job (job_name, requested_by) VALUES ('wren', 'wrenbird')")

    async def killed(*_: Any) -> int:
        raise RuntimeError

    async def unavailable(*_: Any) -> int:
        raise Unavailable

    with monkeypatch.context() as patched:
        patched.setattr(Passes, "run", killed)
        assert (await erase(site, wren.user_id)).status == 500
        patched.setattr(Passes, "run", unavailable)
        assert (await erase(site, wren.user_id)).json["data"]["changed"] == 0
    assert await query(site, 'SELECT 1 FROM sys."user" WHERE id = %s', wren.user_id) == []
    requested = "SELECT requested_by FROM sys.job WHERE job_name = 'wren'"
    assert await query(site, requested) == [("wrenbird",)]

    assert await pass_again(site, wren.user_id)
    assert await query(site, requested) == [(f"#{wren.user_id}",)]
    # A request in flight writes the name once more: the next pass finds it.
    await query(site, "UPDATE sys.job SET requested_by = 'wrenbird' WHERE job_name = 'wren'")
    assert await pass_again(site, wren.user_id)
    assert await query(site, requested) == [(f"#{wren.user_id}",)]
    await query(site, "DELETE FROM sys.job WHERE job_name = 'wren'")
