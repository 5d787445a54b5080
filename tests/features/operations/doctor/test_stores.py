"""What the doctor says of stores that are set up wrongly, and of stores that are out of reach."""

import json
import secrets
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import redis
from msgspec import structs
from psycopg.conninfo import conninfo_to_dict

from service.features.embedded.stores import EmbeddedStores
from service.features.operations.checks import checks_for
from service.features.operations.commands_doctor import as_json, as_text, diagnose, status_of
from service.features.operations.diagnosis import store_checks
from service.keyspace.inspection import StoreFacts
from service.operator.findings import Finding, Installation
from service.records.database.server_facts import ServerFacts
from service.records.installation.schema_revision import SchemaStanding
from service.settings import Database, Redis, Server, Settings
from tests.features.operations.doctor.conftest import Look, LookAt, execute, no_routes, variables_of
from tests.support.cases import with_each
from tests.support.running import portcullis
from tests.support.spare import SpareStores
from tests.support.waiting import eventually
from tests.support.without import OFF_NAMES

GOOD = StoreFacts("Valkey 9.1.2", (7, 2, 4), "standalone", "master", 0, "noeviction", True, False, 0.0)
SERVER = ServerFacts(18_00_04, 0.0, SchemaStanding("v0004", "v0004", known=True))


@pytest.fixture
def valkey(own_stores: EmbeddedStores) -> Iterator[redis.Redis]:
    """A Valkey of the test's own."""
    with redis.Redis.from_url(own_stores.redis_url) as client:
        yield client


def diagnosed(stores: EmbeddedStores, folder: Path) -> dict[str, Finding]:
    return dict(diagnose(variables_of(stores.database_url, stores.redis_url, folder / "data")))


def test_a_store_is_judged_by_what_it_does_with_what_it_is_given(
    own_stores: EmbeddedStores, valkey: redis.Redis, tmp_path: Path
) -> None:
    def states(**configuration: str) -> list[str]:
        for name, value in configuration.items():
            valkey.config_set(name.replace("_", "-"), value)
        findings = diagnosed(own_stores, tmp_path)
        return [findings[name].state for name in ("session-store", "eviction", "persistence", "clocks")]

    assert states() == ["ok", "ok", "ok", "ok"]
    assert states(appendonly="no") == ["ok", "ok", "warning", "ok"]
    assert states(save="60 1", maxmemory_policy="allkeys-lru") == ["ok", "warning", "warning", "ok"]
    assert states(maxmemory="64mb", appendonly="yes") == ["ok", "fault", "ok", "ok"]
    # Valkey does not end while it writes a new append-only file.
    assert eventually(lambda: not valkey.info("persistence")["aof_rewrite_in_progress"])


def test_a_database_that_takes_no_writes_is_a_fault(look_at: LookAt, database_url: str) -> None:
    name = conninfo_to_dict(database_url)["dbname"]
    execute(database_url, f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    finding = look_at("database")
    assert finding.state == "fault"
    assert "read-only" in finding.message


def test_a_database_that_refuses_is_told_from_one_that_does_not_answer(
    look_at: LookAt, database_url: str
) -> None:
    parts = conninfo_to_dict(database_url)
    urls = {
        'database "nothing" does not exist': database_url.replace(f"/{parts['dbname']}", "/nothing"),
        'role "nobody" does not exist': database_url.replace(f"//{parts['user']}", "//nobody"),
    }
    for reason, url in urls.items():
        assert look_at("database", DATABASE_URL=url).message == f"can't be used: {reason}"
    away = look_at("database", DATABASE_URL="postgresql://nobody@localhost:1/x")
    assert "Connection refused" in away.message
    assert away.remedy.startswith("correct the error on the server, or in database.url")


def test_a_session_store_that_refuses_is_told_from_one_that_does_not_answer(
    own_stores: EmbeddedStores, tmp_path: Path
) -> None:
    wrong = own_stores.redis_url.replace("unix://", "unix://nobody:pa55word@")
    findings = dict(diagnose(variables_of(own_stores.database_url, wrong, tmp_path / "data")))
    assert findings["session-store"].message.startswith("can't be used: ")
    assert "invalid username-password pair" in findings["session-store"].message
    assert "pa55word" not in str(findings)


def test_an_empty_number_beside_one_with_keys_is_a_warning(
    own_stores: EmbeddedStores, tmp_path: Path
) -> None:
    def finding(number: int) -> Finding:
        url = f"{own_stores.redis_url.partition('?')[0]}?db={number}"
        return dict(diagnose(variables_of(own_stores.database_url, url, tmp_path / "data")))["session-store"]

    assert finding(3).state == "ok", "nothing is anywhere"
    with redis.Redis.from_url(own_stores.redis_url, db=5) as client:
        client.set("auth:device:1:web", "x")
    assert finding(5).state == "ok"
    empty = finding(3)
    assert empty.state == "warning"
    assert "number 3 is empty, but there are keys in 5 (1 key)" in empty.message
    assert empty.remedy.startswith("if the sessions are there, put that number")


def test_an_account_that_may_not_ask_is_told_so(
    own_stores: EmbeddedStores, valkey: redis.Redis, tmp_path: Path
) -> None:
    password = secrets.token_hex(8)
    valkey.acl_setuser(
        "service",
        enabled=True,
        passwords=[f"+{password}"],
        keys=["*"],
        commands=["+@all", "-info", "-config"],
    )
    url = own_stores.redis_url.replace("unix://", f"unix://service:{password}@")

    findings = dict(diagnose(variables_of(own_stores.database_url, url, tmp_path / "data")))

    names = ("session-store", "eviction", "persistence", "clocks")
    assert [findings[name].state for name in names] == ["unknown", "unknown", "unknown", "ok"]


def test_a_store_that_is_away_is_a_fault_and_all_else_is_looked_at(
    own_seeded_stores: EmbeddedStores, tmp_path: Path
) -> None:
    stores = own_seeded_stores
    variables = variables_of(stores.database_url, stores.redis_url, tmp_path / "data")
    stores.valkey.stop()
    without_sessions = diagnosed(stores, tmp_path)
    stores.postgres.stop()

    done = portcullis(tmp_path, "doctor", "--json", **variables)

    assert without_sessions["session-store"].state == "fault"
    assert [without_sessions[name].state for name in ("eviction", "persistence", "clocks")] == ["unknown"] * 3
    assert without_sessions["schema"].state == without_sessions["policy-files"].state == "ok"
    assert (done.status, done.errors) == (1, "")
    states = {check["check"]: check["state"] for check in json.loads(done.output)["checks"]}
    assert (states["database"], states["session-store"], states["policy-files"]) == ("fault", "fault", "ok")
    assert {states[name] for name in ("schema", "published-policy", "routes", "administrators")} == {
        "unknown"
    }


def test_the_command_exits_by_the_worst_that_it_has_found(
    look: Look, database_url: str, redis_url: str, tmp_path: Path
) -> None:
    variables = variables_of(database_url, redis_url, tmp_path / "data")
    worst = {finding.state for finding in look().values()}

    lenient = portcullis(tmp_path, "doctor", **variables)
    strict = portcullis(tmp_path, "doctor", "--strict", **variables)

    assert worst == {"ok", "warning"}
    assert (lenient.status, strict.status) == (0, 1)
    # The clocks are told to a tenth of a second.
    assert [line.split()[:2] for line in lenient.output.splitlines()[:-1]] == [
        line.split()[:2] for line in strict.output.splitlines()[:-1]
    ]
    assert lenient.output.splitlines()[-1].startswith(f"Checks: {len(checks_for(OFF_NAMES))}; warning ")


def test_no_secret_is_ever_printed(tmp_path: Path) -> None:
    variables = {
        "DATABASE_URL": "postgresql://someone:pa55-database@localhost:1/x",
        "REDIS_URL": "redis://:pa55-sessions@localhost:1/0",
        "JWT_SECRET": secrets.token_urlsafe(64),
        "OBJSTORE_BUCKET": "b",
        "OBJSTORE_ENDPOINT": "http://localhost:1",
        "OBJSTORE_ACCESS_KEY": "someone",
        "OBJSTORE_SECRET_KEY": "pa55-objects",
        "PORTCULLIS_ADMIN_PASSWORD": "pa55 administrator",
    }

    done = portcullis(tmp_path, "doctor", **variables)
    wrong = diagnose(variables | {"PORTCULLIS_CONFIG": "", "DATABASE_URL": "mysql://a:pa55-database@b/c"})

    output = done.output + done.errors + as_text(wrong) + as_json(wrong)
    assert (done.status, status_of(wrong, strict=False)) == (1, 1)
    assert "pa55" not in output
    assert variables["JWT_SECRET"] not in output


def test_before_the_first_start_nothing_is_made(tmp_path: Path) -> None:
    data = tmp_path / "data"

    findings = dict(diagnose({"PORTCULLIS_CONFIG": "", "PORTCULLIS_SERVER__DATA": str(data)}))

    assert "fault" not in {finding.state for finding in findings.values()}
    assert findings["embedded-stores"].state == findings["database"].state == "unknown"
    assert not data.exists()


@pytest.fixture(scope="module")
def data(spare_stores: SpareStores, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data directory of embedded stores that nobody runs, with a seeded database."""
    folder = tmp_path_factory.mktemp("doctor") / "d"
    with spare_stores.borrowed(seeded=True) as stores:
        stores.postgres.stop()
        stores.valkey.stop()
        shutil.copytree(stores.data, folder, ignore=shutil.ignore_patterns("sockets"))
    return folder


def test_embedded_stores_that_nobody_runs_are_started_and_stopped_again(data: Path) -> None:
    findings = dict(diagnose({"PORTCULLIS_CONFIG": "", "PORTCULLIS_SERVER__DATA": str(data)}))

    names = ("signing-key", "data-directory", "database", "schema", "session-store", "persistence")
    assert [findings[name].state for name in names] == ["ok"] * len(names)
    EmbeddedStores(data).close()  # nobody owns them


def test_embedded_stores_that_do_not_start_are_a_fault(data: Path) -> None:
    version = data / "postgres" / "PG_VERSION"
    right = version.read_text()
    version.write_text("3\n")

    findings = dict(diagnose({"PORTCULLIS_CONFIG": "", "PORTCULLIS_SERVER__DATA": str(data)}))
    version.write_text(right)

    assert findings["embedded-stores"].state == "fault"
    assert findings["schema"].state == "unknown"
    assert findings["policy-files"].state == "ok"


def looked_at(
    check: str,
    store: StoreFacts = GOOD,
    server: ServerFacts = SERVER,
    *,
    wait_replicas: int = 0,
    url: str = "redis://x",
) -> Finding:
    """Return what a check finds in stores that no machine here can run."""
    given = Redis(url=url, wait_replicas=wait_replicas)
    settings = Settings(server=Server(workers=4), database=Database(url="postgresql:///x"), redis=given)
    finding: Finding = getattr(store_checks, check)(
        Installation({}, settings, no_routes, server=server, store=store)
    )
    return finding


@pytest.mark.parametrize(
    "store",
    [
        replace(GOOD, version=(6, 2, 14)),
        replace(GOOD, mode="cluster"),
        replace(GOOD, role="slave"),
    ],
    ids=["too old", "a cluster", "a replica"],
)
def test_a_session_store_that_can_not_work_is_a_fault(store: StoreFacts) -> None:
    assert looked_at("session_store").state == "ok"
    assert looked_at("session_store", store).state == "fault"


@with_each(
    ("changes", "wait_replicas", "state", "message"),
    [
        ({}, 1, "ok", "3 shards"),
        ({"covered": 0.67}, 0, "fault", "67.0% of the slots"),
        ({"needs_all": True}, 0, "warning", "if one shard fails, requests of all users are refused"),
        ({"most_replicas": 2}, 1, "warning", "2 replicas of a shard, of which 1 must confirm"),
        ({"replicas": 0}, 1, "fault", "0 replicas"),
        ({"needs_replicas": False}, 1, "warning", "min-replicas-to-write is not set"),
        ({"needs_replicas": False}, 0, "ok", "3 shards"),
        ({"needs_replicas": True}, 1, "ok", "3 shards"),
    ],
)
def test_a_cluster_that_can_not_lose_a_shard_or_a_replica_is_told(
    changes: dict[str, Any], wait_replicas: int, state: str, message: str
) -> None:
    facts = replace(GOOD, mode="cluster", shards=3, replicas=1, most_replicas=1)
    url = "redis+cluster://a,b"
    finding = looked_at("session_store", replace(facts, **changes), wait_replicas=wait_replicas, url=url)
    assert finding.state == state
    assert message in finding.message


@with_each(("replicas", "state"), [(0, "fault"), (1, "fault"), (2, "ok"), (None, "ok")])
def test_fewer_replicas_than_logins_wait_for_are_a_fault(replicas: int | None, state: str) -> None:
    finding = looked_at("session_store", replace(GOOD, replicas=replicas), wait_replicas=2)
    assert finding.state == state


def test_a_database_that_is_too_old_is_a_fault() -> None:
    assert looked_at("database").state == "ok"
    assert looked_at("database", server=structs.replace(SERVER, version=16_00_09)) == Finding(
        "fault", "PostgreSQL 16.9", "PostgreSQL 17 or later is needed"
    )


@pytest.mark.parametrize(
    ("most", "state", "message"),
    [
        (39, "fault", "a node opens up to 40 of 39 connections (10 per worker)"),
        (79, "ok", "a node opens up to 40 of 79 connections (10 per worker): enough for 1 node of this size"),
        (
            97,
            "ok",
            "a node opens up to 40 of 97 connections (10 per worker): enough for 2 nodes of this size",
        ),
    ],
)
def test_connections_are_counted_for_all_workers_of_a_node(most: int, state: str, message: str) -> None:
    finding = looked_at("connections", server=structs.replace(SERVER, connections=most))
    assert (finding.state, finding.message) == (state, message)


@with_each(
    ("store", "server", "expected"),
    [
        (0.4, -0.4, "ok"),
        (-2.0, 0.0, "warning"),
        (0.0, 60.0, "warning"),
        (5.5, 0.0, "warning"),
        (-61.0, 0.0, "fault"),
        (61.0, 0.0, "fault"),
    ],
)
def test_clocks_that_differ_are_told_in_seconds(store: float, server: float, expected: str) -> None:
    finding = looked_at("clocks", replace(GOOD, ahead=store), structs.replace(SERVER, ahead=server))

    assert finding.state == expected
    assert f"session store {store:+.1f} s, database {server:+.1f} s" in finding.message
