"""Users as tables, over the whole service."""

import asyncio
import csv
import io
import json
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from service.features.embedded.stores import EmbeddedStores
from service.features.tables.api_tables import ImportedUser
from service.kernel.fields import camel
from service.records import role_rights
from tests.features.tables.tables import KINDS, NO_NOTE, faults, send
from tests.support.inside import Inside, inside
from tests.support.inside_fixtures import ServiceWith
from tests.support.members import member, query
from tests.support.seeded import ADMINISTRATOR_PASSWORD
from tests.support.waiting import eventually_here

EXPORT, IMPORT, DRY = "/api/user/export", "/api/user/import", "/api/user/import?dryRun=true"
COLUMNS = "userName,nickName,email,phone,gender,avatar,language,timeZone,status,service,kind,roles"
PASSWORD = "four wary herons"


async def exported(house: Inside, form: str = "csv") -> bytes:
    answer = await house.ask("GET", f"{EXPORT}?format={form}")
    assert answer.status == 200, answer.body
    return answer.body


async def people(house: Inside) -> dict[str, Any]:
    """Return all users by name, as they are exported."""
    return {user["userName"]: user for user in json.loads(await exported(house, "json"))["users"]}


async def stored(house: Inside) -> list[Any]:
    """Everything about users that there is."""
    return await query(
        house,
        "SELECT u.*, ARRAY(SELECT role_id FROM sys.user_role r WHERE r.user_id = u.id ORDER BY 1)"
        " FROM sys.user u ORDER BY id",
    )


async def give(house: Inside, *users: dict[str, Any]) -> Any:
    return await house.data("POST", IMPORT, {"users": list(users)})


@pytest.mark.parametrize("form", ["csv", "csv&bom=true", "json", "jsonl", "xlsx"])
async def test_what_is_exported_can_be_imported_and_changes_nothing(house: Inside, form: str) -> None:
    await give(
        house,
        {
            "userName": "heron",
            "nickName": "=1+1 _x0041_ 鹭 بلشون 🪶",
            "email": "heron@example.org",
            "phone": "0049301234567890123",
            "gender": "female",
            "avatar": "/a,b.png",
            "language": "zh-CN",
            "timeZone": "Asia/Shanghai",
            "roles": ["user", "auditor"],
            "password": PASSWORD,
        },
        {"userName": "00123", "nickName": "12345678901234567890"},
        {"userName": "O'Neill", "nickName": '\'="x", y', "status": "disabled"},
    )
    before = await stored(house)

    kind = KINDS[form.partition("&")[0]]
    answer = await send(house, IMPORT, await exported(house, form), kind=kind)

    assert answer.json["data"] == {"dryRun": False, "created": 0, "updated": 0, "unchanged": 4, "rows": []}
    assert await stored(house) == before


class Round:
    """A service that takes tables of any users, one after another, and gives them back."""

    def __init__(self, runner: asyncio.Runner, service: Inside) -> None:
        self._runner = runner
        self._service = service

    def run(self, rows: list[dict[str, str]]) -> None:
        self._runner.run(self._there_and_back(rows))

    async def _there_and_back(self, rows: list[dict[str, str]]) -> None:
        service = self._service
        await query(service, "DELETE FROM sys.user WHERE id <> 1")
        await give(service, *rows)
        form = ("csv", "xlsx")[len(rows) % 2]
        table = await exported(service, form)
        kind = KINDS[form]
        assert (await send(service, IMPORT, table, kind=kind)).json["data"]["unchanged"] == len(rows) + 1
        await query(service, "DELETE FROM sys.user WHERE id <> 1")
        assert (await send(service, IMPORT, table, kind=kind)).json["data"]["created"] == len(rows)
        users = await people(service)
        assert {name: user["nickName"] for name, user in users.items() if name != "admin"} == {
            row["userName"]: row["nickName"] for row in rows
        }


@pytest.fixture
def there_and_back(service_with: ServiceWith) -> Iterator[Round]:
    """Runs its own loop: Hypothesis calls tests that are no coroutines."""
    with asyncio.Runner() as runner:
        running = service_with()
        yield Round(runner, runner.run(running.__aenter__()))
        runner.run(running.__aexit__(None, None, None))


TEXT = (
    st.text(alphabet="'=+-@ab,\";\u00e4\uff1d _x04<&\U0001f9a6", min_size=1, max_size=8)
    .map(str.strip)
    .filter(bool)
)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(nick_names=st.lists(TEXT, min_size=1, max_size=8))
def test_any_texts_go_out_and_in_again_unchanged(there_and_back: Round, nick_names: list[str]) -> None:
    there_and_back.run([{"userName": f"u{n}", "nickName": text} for n, text in enumerate(nick_names)])


async def test_no_password_and_no_hash_is_exported(shared: Inside) -> None:
    for form in ("csv", "json"):
        text = (await exported(shared, form)).decode()
        assert "argon2" not in text
        assert "password" not in text.lower()
    columns = [camel(name) for name in ImportedUser.__struct_fields__ if name != "password"]
    assert (await exported(shared)).decode().splitlines()[0].replace('"', "").split(",") == columns


async def test_an_export_has_everybody_however_many(house: Inside) -> None:
    await query(
        house,
        "INSERT INTO sys.user (user_name, user_name_key, nick_name, password_hash)"
        " SELECT 'u' || n, 'u' || n, 'U', '-' FROM generate_series(1, 1250) n",
    )

    answer = await house.ask("GET", EXPORT)

    _, *rows = csv.reader(io.StringIO(answer.body.decode(), newline=""))
    assert [row[0] for row in rows] == ["admin", *(f"u{n}" for n in range(1, 1251))]
    assert len(json.loads(await exported(house, "json"))["users"]) == 1251


async def test_rows_are_created_and_edited_and_each_is_told(house: Inside) -> None:
    otter = {"userName": "otter", "nickName": "Otter", "email": "o@example.org", "status": "disabled"}
    await give(house, otter)
    table = (
        f"{COLUMNS},password\r\n"
        f"heron,Heron,,,,,,,,,,user auditor,{PASSWORD}\r\n"
        "OTTER,Otti,,,other,,,,disabled,,,user,\r\n"
        "admin,Administrator,,,,,,,,,,super,\r\n"
    )

    answer = await send(house, IMPORT, table)

    assert answer.json["data"] == {
        "dryRun": False,
        "created": 1,
        "updated": 1,
        "unchanged": 1,
        "rows": [
            {"row": 1, "name": "heron", "outcome": "created", "changes": [], **NO_NOTE},
            {
                "row": 2,
                "name": "OTTER",
                "outcome": "updated",
                "changes": ["nickName", "email", "gender", "roles"],
                **NO_NOTE,
            },
        ],
    }
    users = await people(house)
    assert (users["heron"]["status"], users["heron"]["roles"]) == ("enabled", ["auditor", "user"])
    assert (users["otter"]["email"], users["otter"]["gender"]) == (None, "other")
    assert await house.log_in("heron", PASSWORD)


async def test_a_new_user_without_a_password_has_none_until_an_invitation(house: Inside) -> None:
    report = await give(house, {"userName": "heron", "nickName": "Heron"})

    assert report["rows"][0]["note"] == "created without a password: invite the user, or set a first password"
    assert report["rows"][0]["noteCode"] == "created_without_password"
    [heron] = (await house.data("GET", "/api/user/list?invited=true"))["items"]
    assert (heron["userName"], heron["status"]) == ("heron", "enabled")
    for guess in ("", "heron", "-", ADMINISTRATOR_PASSWORD):
        body = {"userName": "heron", "password": guess or "x"}
        assert (await house.ask("POST", "/api/auth/login", body)).code == "login_failed"


async def test_an_import_sets_no_password_of_an_existing_user(shared: Inside) -> None:
    answer = await send(shared, IMPORT, f"userName,password\r\nadmin,{PASSWORD}\r\n")

    ((row, field, message),) = faults(answer)
    assert (row, field) == (1, "password")
    assert message == "The user already exists, and an import does not set passwords of existing users"
    assert PASSWORD not in answer.body.decode()
    shared.token = await shared.log_in("admin")  # ends the session that all tests use


async def test_a_dry_run_answers_as_the_import_would_and_saves_nothing(house: Inside) -> None:
    table = f"userName,nickName,roles,password\r\nheron,Heron,user,{PASSWORD}\r\notter,Otter,,\r\n"
    before = await stored(house)

    dry = await send(house, DRY, table)
    assert await stored(house) == before
    real = await send(house, IMPORT, table)

    assert dry.json["data"] == real.json["data"] | {"dryRun": True}
    refused = "userName,nickName,roles\r\nheron,Heron,nosuch\r\n"
    assert faults(await send(house, DRY, refused)) == faults(await send(house, IMPORT, refused))


async def test_all_faulty_rows_are_told_and_none_is_saved(shared: Inside) -> None:
    before = await stored(shared)

    answer = await send(
        shared,
        IMPORT,
        "userName,nickName,email,roles,password\r\n"
        f"heron,Heron,,user,{PASSWORD}\r\n"
        f"otter,Otter,nowhere,user nosuch,{PASSWORD}\r\n"
        "eel,Eel,,,password1\r\n"
        f"HERON,Heron,,,{PASSWORD}\r\n"
        f"a\u202eb,Heron,,,{PASSWORD}\r\n"
        f"newt,,,,{PASSWORD}\r\n",
    )

    assert [(row, field) for row, field, _ in faults(answer)] == [
        (2, "email"),
        (2, "roles[1]"),
        (3, "password"),
        (4, "userName"),
        (5, "userName"),
        (6, "nickName"),
    ]
    assert "nosuch" not in answer.body.decode()
    assert "password1" not in answer.body.decode()
    assert await stored(shared) == before


async def test_names_that_are_taken_meanwhile_are_told_and_nothing_is_saved(house: Inside) -> None:
    table = "userName,nickName\r\n" + "".join(f"u{n},U\r\n" for n in range(20))

    answers = await asyncio.gather(*(send(house, IMPORT, table) for _ in range(2)))

    created = sorted(answer.json["data"]["created"] for answer in answers if answer.status == 200)
    assert created in ([0, 20], [20])
    assert len(await people(house)) == 21


def waits(database_url: str) -> bool:
    """Tell whether somebody waits for a lock of the service."""
    with psycopg.connect(database_url) as connection:
        locks = connection.execute(
            "SELECT 1 FROM pg_locks JOIN pg_database d ON d.oid = database"
            " WHERE locktype = 'advisory' AND NOT granted AND datname = current_database()"
        )
        return locks.fetchone() is not None


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"status": "disabled"}, (422, [(1, "nickName", "A new user needs one")])),
        ({"nickName": "H"}, (409, "Users of the table have been deleted meanwhile")),
    ],
)
async def test_a_user_who_is_deleted_while_the_import_waits_is_not_made_anew(
    house: Inside, row: dict[str, str], expected: tuple[int, Any]
) -> None:
    await give(house, {"userName": "heron", "nickName": "Heron"})
    async with await psycopg.AsyncConnection.connect(house.database_url) as other:
        await other.execute("SELECT pg_advisory_xact_lock(%s)", (role_rights.LOCK,))
        asked = asyncio.create_task(house.ask("POST", IMPORT, {"users": [{"userName": "heron"} | row]}))
        assert await eventually_here(lambda: waits(house.database_url))
        await other.execute("DELETE FROM sys.user WHERE user_name = 'heron'")
    answer = await asked

    assert (answer.status, faults(answer) if answer.status == 422 else answer.json["detail"]) == expected
    assert list(await people(house)) == ["admin"]


async def test_the_id_and_other_fields_that_are_not_for_giving_are_refused(shared: Inside) -> None:
    for name in ("id", "passwordHash", "createTime", "isAdmin", "version", "roleIds"):
        in_json = await shared.ask("POST", IMPORT, {"users": [{"userName": "x", name: "1"}]})
        assert faults(in_json) == [(1, name, "There is no such field")]
        in_csv = await send(shared, IMPORT, f"userName,{name}\r\nx,1\r\n")
        assert in_csv.fields == [name]


async def test_a_table_gives_nothing_that_the_caller_does_not_hold(house: Inside) -> None:
    importer = await member(house, "importer", "system:user:import", "system:user:list")
    await member(house, "lister", "system:user:list")
    await member(house, "deleter", "system:user:delete")
    table = (
        "userName,nickName,roles\r\n"
        "a,A,lister\r\n"
        "b,B,deleter\r\n"  # a role that gives more
        "admin,Overthrown,super\r\n"  # a user who holds more
        "lister,Lister,deleter\r\n"
        "deleter,Deleter,\r\n"
        "importer,importer,importer super\r\n"  # the caller's own
    )

    answer = await send(house, IMPORT, table, importer.token)

    assert [(row, field) for row, field, _ in faults(answer)] == [
        (2, "roles"),
        (3, "userName"),
        (4, "roles"),
        (5, "userName"),
        (6, "roles"),
    ]
    codes = [error["code"] for error in answer.json["errors"]]
    assert codes == ["permission_denied"] * 4 + ["conflict"]
    assert [error["layer"] for error in answer.json["errors"]] == ["grant"] * 4 + ["account"]
    assert [error.get("required") for error in answer.json["errors"]] == [
        ["system:user:delete"],
        ["*"],
        ["system:user:delete"],
        ["system:user:delete"],
        [],  # nobody changes their own roles
    ]
    assert await importer.held() == {"system:user:import", "system:user:list"}
    alone = await send(house, IMPORT, "userName,nickName,roles\r\na,A,lister\r\n", importer.token)
    assert alone.status == 200


async def test_callers_disable_neither_themselves_nor_each_other_at_once(service: Inside) -> None:
    deputy = await member(service, "deputy", "*")
    table = "userName,status\r\n{},disabled\r\n"
    for target in (IMPORT, DRY):
        reported = faults(await send(service, target, table.format("admin")))
        assert reported == [(1, "status", "You can't disable your own account")]

    answers = await asyncio.gather(
        send(service, IMPORT, table.format("deputy")),
        send(service, IMPORT, table.format("admin"), deputy.token),
    )

    assert sorted(answer.status for answer in answers) in ([200, 401], [200, 403])
    rows = await query(service, "SELECT status FROM sys.user WHERE user_name IN ('admin', 'deputy')")
    assert sorted(rows) == [("disabled",), ("enabled",)]


async def test_what_is_changed_is_felt_with_the_next_request(house: Inside) -> None:
    disabled = await member(house, "disabled", "system:role:list")
    promoted = await member(house, "promoted", "system:role:list")
    untouched = await member(house, "untouched", "system:role:list")

    await send(
        house,
        IMPORT,
        "userName,status,roles,phone\r\n"
        "disabled,disabled,disabled,\r\npromoted,,promoted auditor,\r\nuntouched,,untouched,123\r\n",
    )

    assert (await disabled.ask("GET", "/api/role/list")).code == "account_banned"
    assert (await promoted.ask("GET", "/api/role/list")).code == "refresh_required"
    assert (await untouched.ask("GET", "/api/role/list")).status == 200
    await send(house, IMPORT, "userName,status\r\ndisabled,enabled\r\n")
    assert await disabled.held() == {"system:role:list"}


async def test_without_the_session_store_nothing_is_saved(own_seeded_stores: EmbeddedStores) -> None:
    async with inside(own_seeded_stores.database_url, own_seeded_stores.redis_url) as service:
        await give(service, {"userName": "heron", "nickName": "Heron", "password": PASSWORD})
        before = await stored(service)
        own_seeded_stores.valkey.stop()

        answer = await send(service, IMPORT, "userName,status\r\nheron,disabled\r\n")

        assert (answer.status, answer.code) == (503, "unavailable")
        assert await stored(service) == before


async def test_a_thousand_users_are_one_import(house: Inside) -> None:
    table = "userName,nickName,roles\r\n" + "".join(f"u{n},U,user auditor\r\n" for n in range(1000))

    answer = await send(house, IMPORT, table)

    assert answer.json["data"]["created"] == 1000
    assert (await send(house, IMPORT, await exported(house))).status == 422  # 1,001 rows with admin
