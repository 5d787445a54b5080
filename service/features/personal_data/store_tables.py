"""Takes a person out of rows that stay, by the declarations of the inventory; counts rows with a person."""

import json
from collections.abc import AsyncIterator, Iterator
from typing import Any, Final

import sqlalchemy as sa
from msgspec import Struct
from sqlalchemy.dialects.postgresql import JSONB

from service.features.personal_data.inventory import DELETED, inventory
from service.features.personal_data.persons import Person
from service.features.personal_data.store_persons import own_name
from service.kernel.personal import Kept
from service.records.database.transactions import Connection
from service.records.schema.all_tables import metadata
from service.records.schema.base import SCHEMA

ENTRIES: Final = frozenset({"export_dead_letter", "export_decision", "log_set_aside", "operation_intent"})
"""Tables whose only column of texts has entries or events as JSON."""
_ABOUT: Final = ("user_id", "userId", "login_id", "loginId")
_ACTOR: Final = frozenset(
    {"user_name", "userName", "nick_name", "nickName", "device", "browser", "os", "ip", "address"}
    | {"client_ip", "clientIp", "login_ip", "loginIp", "user_agent", "userAgent"}
)
_WITHOUT: Final = "sys.without_person({}, :pattern, :mark)"


class Held(Struct, frozen=True):
    """The rows of a table that hold a person: ``deleted``, ``redacted`` and, under a seal, ``kept``."""

    table: str
    deleted: int = 0
    redacted: int = 0
    kept: int = 0


def _table(kept: Kept) -> sa.Table:
    return metadata.tables[f"{SCHEMA}.{kept.table}"]


def _editable(kept: Kept, names: str) -> Iterator[tuple[str, bool]]:
    """Yield the stored columns among ``names``, and whether each is JSON."""
    for name in names.split():
        column = _table(kept).columns[name]
        if column.computed is None:
            yield name, isinstance(column.type, JSONB)


def _assignments(kept: Kept) -> dict[str, str]:
    """Return the SQL of the new value of each column that can hold a person."""
    own = own_name(kept)
    columns = {}
    for name, _ in _editable(kept, kept.names):
        mine = f" OR {kept.owner} = :user_id" if name == own else ""
        columns[name] = f"CASE WHEN {name} = ANY (:names){mine} THEN :mark ELSE {name} END"
    if kept.table in ENTRIES or kept.table in DELETED:
        return columns
    for name, is_json in _editable(kept, kept.texts):
        plain = _WITHOUT.format(name) if is_json else f"{_WITHOUT.format(f'to_jsonb({name})')} #>> '{{}}'"
        columns[name] = f"CASE WHEN {name}::text ~* :loose THEN {plain} ELSE {name} END"
    return columns


def _condition(assignments: dict[str, str]) -> str:
    return " OR ".join(f"{name} IS DISTINCT FROM ({value})" for name, value in assignments.items())


def _values(person: Person) -> dict[str, Any]:
    return {
        "user_id": person.user_id,
        "names": [*person.names],
        "pattern": person.pattern,
        "loose": person.loose,
        "mark": person.mark,
        "holding": [_like(value) for value in person.searched],
        "folded": sorted({value.lower() for value in (*person.names, *person.searched)}),
    }


def _like(value: str) -> bytes:
    written = json.dumps(value, ensure_ascii=False)[1:-1].encode()
    return b"%" + written.replace(b"\\", b"\\\\").replace(b"%", b"\\%").replace(b"_", b"\\_") + b"%"


def redactable() -> list[Kept]:
    """Return the tables in which an erasure deletes or changes rows that stay."""
    return [
        kept for kept in inventory() if kept.table in DELETED or kept.table in ENTRIES or _assignments(kept)
    ]


async def redact(connection: Connection, kept: Kept, person: Person) -> int:
    """Take a person out of the rows of a table that stay; return the number of changed or deleted rows."""
    changed = 0
    values = _values(person)
    if (deleted := DELETED.get(kept.table)) is not None:
        changed += await _run(connection, f"DELETE FROM {_table(kept)} WHERE {deleted}", values)  # noqa: S608 - of constants
    if kept.table in ENTRIES:
        changed += await _redact_entries(connection, kept, person)
    if assignments := _assignments(kept):
        set_to = ", ".join(f"{name} = {value}" for name, value in assignments.items())
        update = f"UPDATE {_quoted(kept)} SET {set_to} WHERE {_condition(assignments)}"  # noqa: S608 - of constants
        changed += await _run(connection, update, values)
    return changed


async def held(connection: Connection, kept: Kept, person: Person) -> Held:
    """Count the rows of a table that an erasure deletes, changes or leaves under a seal."""
    values = _values(person)
    deleted = redacted = sealed = 0
    gone = []
    if kept.rows == "account" and kept.owner:
        gone.append(f"{kept.owner} = :user_id")
    if (condition := DELETED.get(kept.table)) is not None:
        gone.append(condition)
    count = f"SELECT count(*) FROM {_quoted(kept)} WHERE "  # noqa: S608 - of constants
    if gone:
        deleted = await _count(connection, count + " OR ".join(f"({each})" for each in gone), values)
    others = f"({kept.owner} <> :user_id) AND " if kept.rows == "account" and kept.owner else ""
    if assignments := _assignments(kept):
        redacted = await _count(connection, f"{count}{others}({_condition(assignments)})", values)
    if kept.table in ENTRIES:
        redacted += len([row async for row in _entries(connection, kept, person)])
    if columns := kept.sealed.split():
        matching = " OR ".join(f"{name} = ANY (:names) OR {name} ~* :pattern" for name in columns)
        sealed = await _count(connection, f"{count}{others}({matching})", values)
    return Held(kept.table, deleted, redacted, sealed)


async def all_held(connection: Connection, person: Person) -> list[Held]:
    """Return the counts of all tables with rows that hold a person."""
    counted = [await held(connection, kept, person) for kept in inventory() if kept.is_personal]
    return [each for each in counted if each.deleted or each.redacted or each.kept]


def _quoted(kept: Kept) -> str:
    return f'{SCHEMA}."{kept.table}"'


async def _run(connection: Connection, statement: str, values: dict[str, Any]) -> int:
    return int((await connection.execute(_text(statement), values)).rowcount)


async def _count(connection: Connection, statement: str, values: dict[str, Any]) -> int:
    return int((await connection.execute(_text(statement), values)).scalar_one())


def _text(statement: str) -> sa.TextClause:
    types = {"names": "text[]", "folded": "text[]", "pattern": "text", "loose": "text", "mark": "text"}
    for name, kind in types.items():
        statement = statement.replace(f":{name}", f"CAST(:{name} AS {kind})")
    return sa.text(statement)


async def _redact_entries(connection: Connection, kept: Kept, person: Person) -> int:
    table, column = _table(kept), kept.texts
    changed = 0
    key = [*table.primary_key.columns]
    async for row, text in _entries(connection, kept, person):
        place = sa.and_(*(column == row[column.name] for column in key))
        changed += (await connection.execute(sa.update(table).where(place).values({column: text}))).rowcount
    return changed


async def _entries(
    connection: Connection, kept: Kept, person: Person
) -> AsyncIterator[tuple[sa.RowMapping, str]]:
    """Yield the rows whose entry holds a person, each with the entry without the person."""
    table, name = _table(kept), kept.texts
    numbered = rf'"(?:{"|".join(_ABOUT)})": ?"?{person.user_id}[",}}]'
    candidates = sa.select(table).where(table.c[name].op("~*")(f"{person.loose}|{numbered}"))
    for row in (await connection.execute(candidates)).mappings().all():
        text = without(person, row[name])
        if text != row[name]:
            yield row, text


def without(person: Person, text: str) -> str:
    """Return an entry or event, JSON as text, without a person; the actor of the person's entries is null."""
    try:
        value = json.loads(text)
    except ValueError:
        return str(person.without(text))
    redacted = person.without(_without_actor(person, value))
    return text if redacted == value else json.dumps(redacted, ensure_ascii=False, separators=(",", ":"))


def _without_actor(person: Person, value: Any) -> Any:
    if isinstance(value, list):
        return [_without_actor(person, item) for item in value]
    if not isinstance(value, dict):
        return value
    is_own = any(str(value.get(name)) == str(person.user_id) for name in _ABOUT)
    return {
        name: None if is_own and name in _ACTOR else _without_actor(person, item)
        for name, item in value.items()
    }
