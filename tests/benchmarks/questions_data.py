"""A large installation for the benchmark of questions: roles with wildcards, and codes bound at random."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Final, Literal, LiteralString

import psycopg

from service.authz.publishing.shipped import read_shipped
from service.server.prepare import publish_policy
from service.settings import load
from tests.benchmarks.users import USERS
from tests.support.seeded import seed_database

Shape = Literal["own", "external"]
"""Whether resources are of this service, narrow ones of its routes, or of another one."""

SERVICE: Final = "shop"
ACTS: Final = ("list", "edit", "drop")
_OWN: Final = ("/api/user", "/api/role", "/api/menu")
_METHODS: Final = ("GET", "PUT", "DELETE")
_HELD: Final = ("system:*", "system:user:*", "system:role:list", "system:menu:detail", "system:*:list")
"""What roles give of the service itself: so some pass the layer of endpoints too."""
_MOST_ROLES: Final = (0, 1, 2, 2, 3, 3, 4)
"""How many roles users have, each as often as it stands here."""


@dataclass(frozen=True)
class Size:
    """How many there are of each kind."""

    roles: int
    resources: int
    users: int


LARGE: Final = Size(500, 10_000, 20_000)
SMALL: Final = Size(50, 1_000, 2_000)


@dataclass(frozen=True)
class Installed:
    """What questions are about; the two revisions differ in the bindings of every third resource."""

    shape: Shape
    role_id: int
    given: tuple[str, ...]
    user_id: int
    resource_id: int
    button_id: int
    first_revision: int
    last_revision: int


def install(environ: Mapping[str, str], shape: Shape, size: Size) -> Installed:
    """Prepare an installation as a start does, fill it, and publish its policy twice."""
    settings = load(environ)
    seed_database(settings.database.url)
    draw = Random(1)
    codes = _codes(shape, size, draw)
    with psycopg.connect(settings.database.url, autocommit=True) as connection:
        connection.execute(USERS.replace("{size}", str(size.users)).encode())
        buttons = _buttons(connection, codes)
        resources = _resources(connection, shape, size)
        bound = [buttons[code] for code in codes]
        _bind(connection, bound, resources, draw)
        held = _roles(connection, size, buttons, draw)
        _use(connection)
        connection.execute("VACUUM ANALYZE")
        publish_policy(settings, read_shipped())
        first = _number(connection, NEWEST)
        connection.execute("DELETE FROM sys.action_resource WHERE resource_id = ANY(%s)", [resources[::3]])
        _bind(connection, bound, resources[::3], draw)
        publish_policy(settings, read_shipped())
        return Installed(
            shape=shape,
            role_id=_number(connection, "SELECT id FROM sys.role WHERE role_code = 'team-1'"),
            given=tuple(held["team-1"]),
            user_id=_number(connection, MEMBER),
            resource_id=resources[1],
            button_id=bound[1],
            first_revision=first,
            last_revision=_number(connection, NEWEST),
        )


USED: Final[tuple[LiteralString, ...]] = (
    """
CREATE TEMP TABLE needed AS
SELECT role_id, auth_mark AS code FROM sys.role_menu JOIN sys.menu m ON m.id = menu_id
WHERE menu_type = 'Button' AND position('*' IN auth_mark) = 0
UNION
SELECT role_id, within.code FROM sys.role_menu JOIN sys.menu wide ON wide.id = menu_id
CROSS JOIN LATERAL (
    SELECT auth_mark AS code FROM sys.menu
    WHERE menu_type = 'Button' AND position('*' IN auth_mark) = 0
        AND auth_mark LIKE replace(wide.auth_mark, '*', '%')
    LIMIT 5
) within
WHERE wide.menu_type = 'Button' AND position('*' IN wide.auth_mark) > 0 AND wide.auth_mark <> '*'
""",
    """
INSERT INTO sys.permission_use
SELECT user_id, date_trunc('month', now())::date - ago * interval '1 month',
    jsonb_object_agg(code, 1 + (user_id * 31 + ago) % 27)
FROM sys.user_role JOIN needed USING (role_id) CROSS JOIN generate_series(1, 3) ago
WHERE hashtext(code || user_id) % 4 = 0 GROUP BY 1, 2
""",
    "INSERT INTO sys.use_recording (since_time) VALUES (now() - interval '400 days')",
    "UPDATE sys.timeline SET begin_time = now() - interval '500 days'",
    "UPDATE sys.role_code_life SET begin_time = now() - interval '500 days' WHERE end_time IS NULL",
    """
UPDATE sys.user_role SET create_time = now() - interval '500 days',
    valid_until = CASE WHEN user_role.id % 5 < 3 AND password_hash = 'x' THEN now() + interval '5 years' END
FROM sys."user" u WHERE u.id = user_id
""",
)
"""Uses of three months, in an installation that is older; two of five assignments have no end."""


def _use(connection: psycopg.Connection[Any]) -> None:
    for statement in USED:
        connection.execute(statement)


NEWEST: Final = "SELECT max(revision) FROM sys.policy_revision"
MEMBER: Final = """
SELECT min(user_id) FROM sys.user_role JOIN sys."user" u ON u.id = user_id
WHERE u.status = 'enabled' AND u.password_hash = 'x'
"""


def _number(connection: psycopg.Connection[Any], statement: LiteralString) -> int:
    row = connection.execute(statement).fetchone()
    assert row is not None
    number: int = row[0]
    return number


def _codes(shape: Shape, size: Size, draw: Random) -> list[str]:
    if shape == "own":
        numbers = range(max(97, size.resources // 10))
        return [f"area{number % 97}:thing{number}:{act}" for number in numbers for act in ACTS]
    return [
        f"shop{draw.randrange(60)}:thing{number}:{draw.choice(ACTS)}" for number in range(size.resources // 2)
    ]


def _wildcards(codes: Sequence[str], draw: Random) -> set[str]:
    """Return what roles may give besides single codes: subtrees and patterns."""
    areas, things, acts = (sorted({code.split(":")[place] for code in codes}) for place in range(3))
    chosen = {f"{area}:*" for area in areas} | {f"*:*:{act}" for act in acts}
    chosen |= {f"{area}:*:{act}" for area in areas for act in acts}
    return chosen | {f"*:{draw.choice(things)}:*" for _ in range(len(things) // 10)}


def _copy(connection: psycopg.Connection[Any], into: LiteralString, rows: Iterable[Sequence[object]]) -> None:
    with connection.cursor().copy(f"COPY {into} FROM STDIN") as copy:
        for row in rows:
            copy.write_row(row)


def _ids(connection: psycopg.Connection[Any], statement: LiteralString) -> dict[str, int]:
    return dict(connection.execute(statement).fetchall())


def _buttons(connection: psycopg.Connection[Any], codes: Sequence[str]) -> dict[str, int]:
    """Make a Button for each code, and for wildcards; return the ids of all Buttons by their codes."""
    parent = _number(connection, "SELECT min(id) FROM sys.menu WHERE menu_type = 'Menu'")
    known = _ids(connection, BUTTONS)
    made = [code for code in [*codes, *sorted(_wildcards(codes, Random(2))), *_HELD] if code not in known]
    _copy(
        connection,
        "sys.menu (menu_type, parent_id, title, auth_mark)",
        (("Button", parent, f"Do {code}", code) for code in made),
    )
    return _ids(connection, BUTTONS)


BUTTONS: Final = "SELECT auth_mark, id FROM sys.menu WHERE menu_type = 'Button'"


def _resources(connection: psycopg.Connection[Any], shape: Shape, size: Size) -> list[int]:
    """Register resources: of this service one for a single record each; return their ids."""
    if shape == "external":
        connection.execute("INSERT INTO sys.service (name) VALUES (%s)", [SERVICE])

    def rows() -> Iterator[tuple[str, str, str, str, str]]:
        for number in range(size.resources):
            if shape == "own":
                method, path = _METHODS[number // 3 % 3], f"{_OWN[number % 3]}/x{number}"
            else:
                method, path = "GET", f"/shop{number % 60}/thing{number}" + ("/{id}" if number % 2 else "")
            service = "portcullis" if shape == "own" else SERVICE
            yield service, f"Thing {number}", f"thing.{number}", method, path

    _copy(connection, "sys.resource (service, resource_name, resource_code, method, path)", rows())
    statement = "SELECT resource_code, id FROM sys.resource WHERE resource_code LIKE 'thing.%' ORDER BY id"
    return list(_ids(connection, statement).values())


def _bind(
    connection: psycopg.Connection[Any], buttons: Sequence[int], resources: Iterable[int], draw: Random
) -> None:
    """Bind each resource to two or three Buttons: it stays open when one of them is disabled."""
    rows = (
        (resource, button) for resource in resources for button in draw.sample(buttons, draw.randint(2, 3))
    )
    _copy(connection, "sys.action_resource (resource_id, menu_id)", rows)


def _roles(
    connection: psycopg.Connection[Any], size: Size, buttons: Mapping[str, int], draw: Random
) -> dict[str, list[str]]:
    """Make roles that give twenty codes and one to three wildcards, and give users up to four of them."""
    codes, wildcards = ([code for code in sorted(buttons) if ("*" in code) is many] for many in (False, True))
    wildcards.remove("*")
    names = [f"team-{number}" for number in range(size.roles)]
    _copy(
        connection,
        "sys.role (role_name, role_name_key, role_code)",
        ((f"Team {name}", f"team {name}", name) for name in names),
    )
    ids = _ids(connection, "SELECT role_code, id FROM sys.role WHERE role_code LIKE 'team-%'")
    held = {name: [*draw.sample(codes, 20), *draw.sample(wildcards, draw.randint(1, 3))] for name in names}
    given = ((ids[name], buttons[code]) for name, codes in held.items() for code in codes)
    _copy(connection, "sys.role_menu (role_id, menu_id)", given)
    users = connection.execute("SELECT id FROM sys.\"user\" WHERE password_hash = 'x' ORDER BY id").fetchall()
    having = (
        (user_id, ids[name]) for (user_id,) in users for name in draw.sample(names, draw.choice(_MOST_ROLES))
    )
    _copy(connection, "sys.user_role (user_id, role_id)", having)
    return held
