"""Two callers of equal power, and every account whose password they get to know, against what they lack."""

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final

import psycopg
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from service.features.embedded.stores import EmbeddedStores
from service.records.schema.rights import menu
from tests.support.databases import database, session_store
from tests.support.inside import Inside, inside_published
from tests.support.rules_oracle import covers
from tests.support.seeded import ADMINISTRATOR_PASSWORD
from tests.support.without import is_off
from tests.users.people import Row
from tests.users.test_no_climbing import EVERY_WRITE

POWERS: Final = {
    "each write": (*EVERY_WRITE,),
    "each write, and all about roles": (*EVERY_WRITE, "system:role:*"),
    "all below system": ("system:*",),
}
CODES: Final = (
    *("*", "system:*", "system:role:*", "system:role:new", "system:online:ban"),
    *("finance:*", "finance:pay", "finance:audit", "finance:new"),
    *("system:user:update", "system:role:update", "system:role:permission", "system:menu:update"),
)
"""What Buttons are given as codes; some exist already."""
PROBES: Final = (*CODES, *EVERY_WRITE, "system:role:any", "system:any:any", "any", "any:any:any")
"""What is asked of a user: does this user hold it? Wildcards are codes among others here."""

WORLD: Final = """
INSERT INTO sys.menu (menu_type, title, auth_mark, enabled) VALUES
    ('Button', 'b', 'system:role:*', true), ('Button', 'b', 'finance:pay', true),
    ('Button', 'b', 'finance:audit', false);
INSERT INTO sys.role (role_code, role_name, role_name_key, enabled) VALUES
    ('crew', 'crew', 'crew', true), ('weak', 'weak', 'weak', true), ('rich', 'rich', 'rich', true),
    ('asleep', 'asleep', 'asleep', false), ('drowsy', 'drowsy', 'drowsy', true);
INSERT INTO sys.role_menu SELECT r.id, m.id FROM sys.role r JOIN sys.menu m ON (role_code, auth_mark) IN
    (('weak', 'system:user:update'), ('rich', 'finance:pay'), ('asleep', '*'), ('drowsy', 'finance:audit'));
INSERT INTO sys."user" (user_name, user_name_key, nick_name, password_hash)
    SELECT n, n, n, password_hash FROM sys."user", unnest(ARRAY['ann', 'bob', 'cid', 'dot', 'eve', 'fay']) n;
INSERT INTO sys.user_role SELECT u.id, r.id FROM sys."user" u JOIN sys.role r ON (user_name, role_code) IN
    (('ann', 'crew'), ('bob', 'crew'), ('cid', 'weak'), ('dot', 'rich'), ('eve', 'asleep'), ('eve', 'weak'),
     ('fay', 'drowsy'));
CREATE SCHEMA saved;
"""
SAVED: Final = {
    "menu": ", ".join(column.name for column in menu.columns if column.computed is None),
    "role": "*",
    "role_menu": "*",
    '"user"': "id, user_name, user_name_key, nick_name, password_hash, status",
    "user_role": "*",
}
"""The tables that are put back before each sequence, with their columns, in the order of foreign keys."""
CREW: Final = """
INSERT INTO sys.role_menu SELECT r.id, m.id FROM sys.role r, sys.menu m
WHERE role_code = 'crew' AND (auth_mark = ANY (%s) OR (%s AND auth_mark = 'finance:audit'))
"""
HELD: Final = """
SELECT user_name, array_agg(auth_mark) FROM sys."user" u
    JOIN sys.user_role ON user_id = u.id
    JOIN sys.role r ON r.id = user_role.role_id AND r.enabled
    JOIN sys.role_menu ON role_menu.role_id = r.id
    JOIN sys.menu m ON m.id = menu_id AND m.enabled AND menu_type = 'Button'
WHERE user_name = ANY (%s) GROUP BY user_name
"""


@dataclass
class Gang:
    """Those whose password the two callers know, and how they ask."""

    service: Inside
    connection: psycopg.Connection[Row]
    tokens: dict[str, str | None] = field(default_factory=lambda: {"ann": None, "bob": None})
    allowed: Counter[str] = field(default_factory=Counter)

    async def ask(self, name: str, method: str, path: str, body: Any = None) -> bool:
        """Send a request as one of them, with a current token; tell whether it was allowed."""
        for _ in range(2):
            token = self.tokens[name] or await self._log_in(name)
            if token is None:
                return False
            answer = await self.service.ask(method, path, body, token=token)
            assert answer.status < 500, answer.body
            if answer.status != 401:
                break
            self.tokens[name] = None
        return answer.status in (200, 201)

    def held(self) -> dict[str, set[str]]:
        """Return what each of them holds, by the rows of the database."""
        rows = self.connection.execute(HELD.encode(), [list(self.tokens)]).fetchall()
        return {name: {probe for probe in PROBES if covers(codes, probe)} for name, codes in rows}

    def user(self, name: str) -> int:
        """Return the id of a user, or of the newest one."""
        return self._id('"user"', "user_name", name, "ann")

    def role(self, code: str) -> int:
        """Return the id of a role, or of the newest one."""
        return self._id("role", "role_code", code, "crew")

    def button(self, code: str) -> int:
        """Return the id of the Button of a code."""
        return self._id("menu", "auth_mark", code, "*")

    def name_of(self, path: str) -> str:
        """Return the name of the user whom a path is about; any for other paths."""
        number = next(filter(str.isdecimal, path.split("/")), "0")
        selected = self.connection.execute(b'SELECT user_name FROM sys."user" WHERE id = %s', [int(number)])
        return str((selected.fetchone() or ("",))[0])

    def _id(self, table: str, column: str, name: str, other: str) -> int:
        """Return an id that may be there no more; of ``other`` if there never was such a name."""
        if name == "newest":
            chosen = "SELECT max(id) FROM sys."
            ((number,),) = self.connection.execute(f"{chosen}{table}".encode()).fetchall()
            return int(number)
        statement = f"SELECT id FROM sys.{table} WHERE {column} = %s"
        row = self.connection.execute(statement.encode(), [name]).fetchone()
        return int(row[0]) if row else 4711 if name == other else self._id(table, column, other, other)

    async def _log_in(self, name: str) -> str | None:
        login = {"userName": name, "password": ADMINISTRATOR_PASSWORD, "device": name}
        answer = await self.service.ask("POST", "/api/auth/login", login)
        self.tokens[name] = answer.json["data"]["accessToken"] if answer.status == 200 else None
        return self.tokens[name]


@dataclass(frozen=True)
class Step:
    """One of the gang tries something: ``newest`` is who, or what, was made last, and else the crew's."""

    kind: str
    who: int
    user: str
    roles: tuple[str, ...]
    codes: tuple[str, ...]
    enabled: bool

    def request(self, gang: Gang, fresh: str) -> tuple[str, str, Any]:
        """Return method, path and body; what is made is called ``fresh``."""
        user, role = gang.user(self.user), gang.role(self.roles[0])
        roles, buttons = list(map(gang.role, self.roles)), list(map(gang.button, self.codes))
        state = "enabled" if self.enabled else "disabled"
        names = {"userName": fresh, "nickName": fresh, "password": ADMINISTRATOR_PASSWORD}
        row = {"roleCode": self.roles[0], "enabled": True, "permissions": self.codes}
        button = {"title": "b", "authMark": self.codes[-1], "parentId": None, "enabled": self.enabled}
        requests: dict[str, tuple[str, str, Any]] = {
            "create a user": ("POST", "/api/user", names | {"roleIds": roles}),
            "give roles": ("PATCH", f"/api/user/{user}", {"roleIds": roles}),
            "set a status": ("PUT", f"/api/user/{user}/status", {"status": state}),
            "set a password": ("PUT", f"/api/user/{user}/password", {"newPassword": ADMINISTRATOR_PASSWORD}),
            "delete a user": ("DELETE", f"/api/user/{user}", None),
            "create a role": ("POST", "/api/role", {"roleName": fresh, "roleCode": fresh}),
            "enable a role": ("PATCH", f"/api/role/{role}", {"roleName": fresh, "enabled": self.enabled}),
            "fill a role": ("PUT", f"/api/role/{role}/permissions", {"menuIds": buttons}),
            "delete a role": ("DELETE", f"/api/role/{role}", None),
            "import a role": ("POST", "/api/role/import", {"roles": [row]}),
            "create a Button": ("POST", "/api/menu", {"menuType": "Button"} | button),
            "edit a Button": ("PATCH", f"/api/menu/{buttons[0]}", button),
            "delete a Button": ("DELETE", f"/api/menu/{buttons[0]}", None),
        }
        return requests[self.kind]


async def take(gang: Gang, step: Step) -> None:
    """Have one of the gang try something; a password that it sets is known to all of it."""
    fresh = f"new{next(_numbers)}"
    request = step.request(gang, fresh)
    name = sorted(gang.tokens)[step.who % len(gang.tokens)]
    known = {"create a user": fresh, "set a password": gang.name_of(request[1])}.get(step.kind)
    if not await gang.ask(name, *request):
        return
    gang.allowed[step.kind] += 1
    if known is not None:
        gang.tokens[known] = None


_numbers = count(1)

KINDS: Final = (
    *("create a user", "give roles", "set a status", "set a password", "delete a user"),
    *("create a role", "enable a role", "fill a role", "delete a role"),
    *(() if is_off("tables") else ("import a role",)),
    *("create a Button", "edit a Button", "delete a Button"),
)
# Twice what leads somewhere.
OFTEN: Final = (*KINDS, *KINDS[:4], "give roles", "fill a role", "fill a role", "edit a Button")
USERS: Final = ("ann", "bob", "newest", "bob", "newest", "cid", "dot", "eve", "fay", "admin")
ROLES: Final = ("crew", "newest", "crew", "newest", "weak", "rich", "asleep", "drowsy", "super", "admin")
STEPS: Final = st.lists(
    st.builds(
        Step,
        kind=st.sampled_from(OFTEN),
        who=st.integers(0, 5),
        user=st.sampled_from(USERS),
        roles=st.lists(st.sampled_from(ROLES), min_size=1, max_size=2).map(tuple),
        codes=st.lists(st.sampled_from(CODES), min_size=1, max_size=2).map(tuple),
        enabled=st.booleans(),
    ),
    min_size=20,
    max_size=30,
)
RUN: Final = (Phase.explicit, Phase.reuse, Phase.generate)

Work = Callable[[Gang], Coroutine[Any, Any, None]]
Run = Callable[[Work, tuple[str, ...], bool], Gang]


@pytest.fixture(scope="module")
def run(stores: EmbeddedStores, published_template: str) -> Iterator[Run]:
    """Run something with a gang in a world of its own, whose role gives chosen codes."""
    with (
        database(stores, published_template) as url,
        session_store(stores) as redis_url,
        asyncio.Runner() as runner,
        psycopg.connect(url, autocommit=True) as connection,
    ):
        whole = inside_published(url, redis_url, PORTCULLIS_THROTTLE__ENABLED="false")
        service = runner.run(whole.__aenter__())
        connection.execute(WORLD.encode())
        for table, columns in SAVED.items():
            connection.execute(f"CREATE TABLE saved.{table} AS SELECT {columns} FROM sys.{table}".encode())

        def running(work: Work, codes: tuple[str, ...], dormant: bool) -> Gang:
            restore(connection)
            connection.execute(CREW.encode(), [list(codes), dormant])
            gang = Gang(service, connection)
            runner.run(begin(service))
            runner.run(work(gang))
            return gang

        yield running
        runner.run(whole.__aexit__(None, None, None))


def restore(connection: psycopg.Connection[Row]) -> None:
    with connection.transaction():
        connection.execute(b"DELETE FROM sys.action_resource")
        # Buttons come back with their bit positions, which a deleted one has retired.
        connection.execute(b"DELETE FROM sys.retired_bit")
        for table in reversed(SAVED):
            connection.execute(f"DELETE FROM sys.{table}".encode())
        for table, columns in SAVED.items():
            into = "" if columns == "*" else f"({columns})"
            values = "SELECT * FROM saved."
            connection.execute(
                f"INSERT INTO sys.{table} {into} OVERRIDING SYSTEM VALUE {values}{table}".encode()
            )


async def begin(service: Inside) -> None:
    service.token = await service.log_in()
    await service.data("POST", "/api/policy/reload")


@pytest.mark.parametrize("sequences", [3, pytest.param(100, marks=pytest.mark.extended)])
def test_no_sequence_of_calls_ends_with_more_than_it_began_with(run: Run, sequences: int) -> None:
    allowed: Counter[str] = Counter()

    # No shrinking: a sequence is read as fast as a dozen more are run.
    @settings(max_examples=sequences, deadline=None, suppress_health_check=list(HealthCheck), phases=RUN)
    @given(st.sampled_from(sorted(POWERS)), st.sampled_from((False, False, True)), STEPS)
    def nobody_climbs(power: str, dormant: bool, steps: list[Step]) -> None:
        codes = POWERS[power]
        at_first = {probe for probe in PROBES if covers(codes, probe)}

        async def climb(gang: Gang) -> None:
            for step in steps:
                await take(gang, step)
                for name, held in gang.held().items():
                    assert held <= at_first, (name, held - at_first)

        allowed.update(run(climb, codes, dormant).allowed)

    nobody_climbs()
    assert allowed.total() > 10  # the sequences are no strings of refusals


def test_each_kind_of_step_can_be_allowed(run: Run) -> None:
    codes = {"import a role": "system:role:update"} | dict.fromkeys(KINDS[-3:], "system:role:new")
    roles = {"create a user": "weak", "give roles": "weak", "import a role": "weak"}

    async def all_of_them(gang: Gang) -> None:
        for kind in KINDS:  # what is made is edited, and then deleted
            code, role = codes.get(kind, "system:online:ban"), roles.get(kind, "newest")
            await take(gang, Step(kind, 0, "newest", (role,), (code,), enabled=True))

    assert run(all_of_them, POWERS["all below system"], False).allowed == Counter(KINDS)


def test_a_climb_would_be_noticed(run: Run) -> None:
    async def helped(gang: Gang) -> None:
        assert await gang.ask("bob", "PATCH", "/api/role/1", {"roleName": "Mine"}) is False
        before = gang.held()["bob"]
        gang.connection.execute(b"UPDATE sys.menu SET enabled = true WHERE auth_mark = 'finance:audit'")
        assert gang.held()["bob"] - before == {"finance:audit"}

    run(helped, POWERS["each write"], True)
