"""What a dry run tells is what really saving does: compared with decisions before and after, user by user."""

import random
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Final

import psycopg
import pytest

from service.audit.seals import RevisionSeals
from service.authz.engine.policy import Policy
from service.authz.engine.resource_index import ResourceIndex
from service.authz.publishing.live import LivePolicy
from service.authz.publishing.shipped import read_shipped
from service.kernel.codes import HeldCodes
from service.records.database.transactions import Database
from tests.support.inside import Inside
from tests.support.without import GONE

CODES: Final = ("system:role:list", "system:user:detail", "system:*:list", "system:user:*", "x:one", "x:two")
PATHS: Final = (
    "GET /api/user/{id}",
    "GET /api/user/1",
    "GET /api/role/1",
    "GET /api/{area}/list",
    "GET /api/file/{id}",
    "GET /api/{area}/1",
    "PUT /api/user/{id}",
)


SHIPPED: Final = read_shipped(off=GONE)
SERVING: Final = ResourceIndex({rule.object for rule in SHIPPED.endpoints})


@dataclass(frozen=True)
class Moment:
    """Who may do what, as stored and in force: read past the code under test."""

    policy: Policy
    serving: ResourceIndex
    codes: dict[str, list[str]]
    users: dict[int, list[str]]
    kept_out: dict[str, list[str]]
    """The roles of the users who are disabled, by name."""
    known: dict[tuple[str, ...], bool] = field(default_factory=dict)
    """What has been decided, by the request and the roles."""

    def allows(self, request: str, roles: list[str]) -> bool:
        """Decide one real request for a user with these roles."""
        question = (request, *roles)
        if question not in self.known:
            self.known[question] = self._decided(request, roles)
        return self.known[question]

    def _decided(self, request: str, roles: list[str]) -> bool:
        held = HeldCodes([code for role in roles for code in self.codes.get(role, [])])
        method, _, path = request.partition(" ")
        route = self.serving.find(method, path)
        resource = self.policy.resource_at(method, path) or "@unregistered"
        assert route is not None
        return (
            self.policy.judge("resource", resource, held).allowed
            and self.policy.judge("endpoint", route, held).allowed
        )

    def credited(self, request: str, roles: list[str]) -> list[str | None]:
        """Return the roles by which a user passes: each that is enough, else each that is needed."""
        if not roles:
            return [None]
        alone: list[str | None] = [role for role in roles if self.allows(request, [role])]
        return alone or [role for role in roles if not self.allows(request, [o for o in roles if o != role])]


class World:
    """A service whose rights are changed at random."""

    def __init__(self, service: Inside, dice: random.Random) -> None:
        self.service = service
        self.dice = dice
        self.ids: dict[str, list[int]] = {"role": [], "user": [], "button": [], "resource": []}
        self._made = 0

    async def fill(self) -> None:
        known = (await self.service.data("GET", "/api/menu/list?menuType=Button&size=200"))["items"]
        ids = {menu["authMark"]: menu["id"] for menu in known}
        for code in CODES:
            if code not in ids:
                body = {"menuType": "Button", "title": code, "authMark": code}
                ids[code] = (await self.service.data("POST", "/api/menu", body))["id"]
            self.ids["button"].append(ids[code])
        self.codes = {ids[code]: code for code in CODES}
        for number in range(3):
            role_body = {"roleName": f"r{number}", "roleCode": f"r{number}"}
            role = (await self.service.data("POST", "/api/role", role_body))["id"]
            self.ids["role"].append(role)
            await self.service.data("PUT", f"/api/role/{role}/permissions", {"menuIds": self.some("button")})
        for number in range(4):
            name = f"user{number}"
            new_user: dict[str, Any] = {"userName": name, "nickName": name, "password": "six stubborn otters"}
            new_user |= {"roleIds": self.some("role"), "status": "disabled" if number == 3 else "enabled"}
            self.ids["user"].append((await self.service.data("POST", "/api/user", new_user))["id"])

    def some(self, kind: str) -> list[int]:
        return [identifier for identifier in self.ids[kind] if self.dice.random() < 0.4]

    def write(self) -> tuple[str, str, Any]:
        """Return some write; it may be refused."""
        dice = self.dice
        kinds = [self._of_role, self._of_role, self._of_user, self._of_button, self._new]
        if self.ids["resource"]:
            kinds += [self._bindings, self._bindings, self._of_resource, self._of_resource]
        return dice.choice(kinds)()

    def _on(self) -> bool:
        return self.dice.random() < 0.6

    def _of_role(self) -> tuple[str, str, Any]:
        role = self.dice.choice(self.ids["role"])
        if self._on():
            return "PUT", f"/api/role/{role}/permissions", {"menuIds": self.some("button")}
        return "PATCH", f"/api/role/{role}", {"roleName": f"r {role}", "enabled": self._on()}

    def _of_user(self) -> tuple[str, str, Any]:
        body = {"roleIds": self.some("role"), "status": "enabled" if self._on() else "disabled"}
        return "PATCH", f"/api/user/{self.dice.choice(self.ids['user'])}", body

    def _of_button(self) -> tuple[str, str, Any]:
        button = self.dice.choice(self.ids["button"])
        body = {"title": "B", "authMark": self.codes[button], "parentId": None, "enabled": self._on()}
        return "PATCH", f"/api/menu/{button}", body

    def _new(self) -> tuple[str, str, Any]:
        self._made += 1
        method, _, path = self.dice.choice(PATHS).partition(" ")
        body = {"resourceName": "N", "resourceCode": f"n{self._made}", "method": method, "path": path}
        return "POST", "/api/resource", body

    def _bindings(self) -> tuple[str, str, Any]:
        if self._on():
            path = f"/api/resource/{self.dice.choice(self.ids['resource'])}/buttons"
            return "PUT", path, {"menuIds": self.some("button")}
        path = f"/api/menu/{self.dice.choice(self.ids['button'])}/resources"
        return "PUT", path, {"resourceIds": self.some("resource")}

    def _of_resource(self) -> tuple[str, str, Any]:
        path = f"/api/resource/{self.dice.choice(self.ids['resource'])}"
        return ("PUT", f"{path}/enabled", {"enabled": self._on()}) if self._on() else ("DELETE", path, None)


async def moment(service: Inside) -> Moment:
    """Read who may do what now."""
    live, database = LivePolicy(SHIPPED, RevisionSeals()), Database(service.database_url, pool_size=1)
    await live.load(database)
    await database.close()
    async with await psycopg.AsyncConnection.connect(service.database_url) as connection:
        codes = await connection.execute(
            "SELECT role_code,"
            " array_remove(array_agg(m.auth_mark) FILTER (WHERE r.enabled AND m.enabled), NULL)"
            " FROM sys.role r LEFT JOIN sys.role_menu rm ON rm.role_id = r.id"
            " LEFT JOIN sys.menu m ON m.id = rm.menu_id GROUP BY role_code"
        )
        given = {role: list(marks or []) for role, marks in await codes.fetchall()}
        users = await connection.execute(
            "SELECT u.id, u.user_name, u.status, array_remove(array_agg(role_code ORDER BY role_code), NULL)"
            " FROM sys.user u LEFT JOIN sys.user_role ur ON ur.user_id = u.id"
            " LEFT JOIN sys.role r ON r.id = ur.role_id GROUP BY u.id"
        )
        rows = await users.fetchall()
    having = {number: list(roles) for number, _, status, roles in rows if status == "enabled"}
    kept_out = {name: list(roles) for _, name, status, roles in rows if status != "enabled"}
    return Moment(live.current, SERVING, given, having, kept_out)


def requests() -> list[str]:
    """Return real requests: to every route, with values that some resources name and one that none does."""
    routes = {rule.object for rule in SHIPPED.endpoints if rule.code != "@anyone"}
    collected = set()
    for route in routes:
        for value in ("1", "zz9"):
            collected.add("/".join(value if part.startswith("{") else part for part in route.split("/")))
    return sorted(collected)


REQUESTS: Final = requests()


Changed = dict[tuple[str | None, str], int]


def expected(before: Moment, after: Moment) -> tuple[Changed, Changed]:
    """Return what users gain and lose by which roles; a role by itself counts with 0 users."""
    changes: dict[str, tuple[Changed, Changed]] = {}
    for request, name in named(before, after).items():
        gains, loses = expected_of(request, before, after)
        both = (
            {(role, name): n for role, n in gains.items()},
            {(role, name): n for role, n in loses.items()},
        )
        assert changes.setdefault(name, both) == both, f"{request} is not decided like the others of {name}"
    return tuple({key: n for each in changes.values() for key, n in each[side].items()} for side in (0, 1))  # type: ignore[return-value]


def concerned(before: Moment, after: Moment) -> list[str]:
    """Return the names of the disabled users who would gain or lose something if they were not."""
    return sorted(
        name
        for name in before.kept_out.keys() & after.kept_out.keys()
        if any(
            before.allows(request, before.kept_out[name]) != after.allows(request, after.kept_out[name])
            for request in REQUESTS
        )
    )


def expected_of(
    request: str, before: Moment, after: Moment
) -> tuple[Counter[str | None], Counter[str | None]]:
    """Return the same for one request, by role."""
    gains: Counter[str | None] = Counter()
    loses: Counter[str | None] = Counter()
    for role in before.codes.keys() & after.codes.keys():
        could, can = before.allows(request, [role]), after.allows(request, [role])
        if can != could:
            (gains if can else loses)[role] += 0
    for user in before.users.keys() | after.users.keys():
        # Who may not log in passes nothing; what every login opens is credited to no role.
        had, has = before.users.get(user), after.users.get(user)
        could = had is not None and before.allows(request, had)
        can = has is not None and after.allows(request, has)
        if can and not could:
            by_login = had is None and after.allows(request, [])
            gains.update([None] if by_login else after.credited(request, has or []))
        if could and not can:
            by_login = has is None and before.allows(request, [])
            loses.update([None] if by_login else before.credited(request, had or []))
    return gains, loses


def named(before: Moment, after: Moment) -> dict[str, str]:
    """Return what a dry run calls each request: literal where a resource of either side is."""
    resources = [name for each in (before, after) for name in each.policy.rules.objects("resource")]
    names = {}
    for request in REQUESTS:
        method, _, path = request.partition(" ")
        route = before.serving.find(method, path)
        assert route is not None
        parts, real = route.split("/"), request.split("/")
        for resource in resources:
            shape = resource.split("/")
            if len(shape) == len(real) and all(
                s.startswith("{") or s == r for s, r in zip(shape, real, strict=True)
            ):
                parts = [p if s.startswith("{") else s for p, s in zip(parts, shape, strict=True)]
        names[request] = "/".join(parts)
    return names


def told_by(entries: list[dict[str, Any]]) -> Changed:
    pairs = [((entry["roleCode"], name), entry["users"]) for entry in entries for name in entry["access"]]
    assert len(dict(pairs)) == len(pairs)
    return dict(pairs)


def kept(data: Any) -> Any:
    """Return what a write answers without what each one has anew."""
    anew = ("id", "version", "policyRevision", "createTime", "updateTime")
    return {name: value for name, value in data.items() if name not in anew} if data else data


@pytest.mark.parametrize(
    ("seed", "writes"),
    [(1, 10), *(pytest.param(seed, 150, marks=pytest.mark.extended) for seed in range(2, 8))],
)
async def test_gains_and_losses_are_those_of_really_saving(service: Inside, seed: int, writes: int) -> None:
    world = World(service, random.Random(seed))
    await world.fill()
    before, saved, changing, keeping = await moment(service), 0, 0, 0
    for _ in range(writes):
        method, path, body = world.write()
        dry = await service.ask(method, f"{path}?dryRun=true", body)
        real = await service.ask(method, path, body)
        if real.status >= 400:
            assert dry.status == real.status, (method, path, body, dry.body, real.body)
            continue
        after, saved = await moment(service), saved + 1
        impact = dry.json["preview"]
        assert kept(dry.json["data"]) == kept(real.json["data"]), (method, path, body)
        gains, loses = expected(before, after)
        assert told_by(impact["gains"]) == gains, (method, path, body)
        assert told_by(impact["loses"]) == loses, (method, path, body)
        kept_out = concerned(before, after)
        assert impact["keptOut"] == {"users": len(kept_out), "userNames": kept_out}, (method, path, body)
        keeping += bool(kept_out)
        changing += bool(gains or loses)
        if method == "POST":
            world.ids["resource"].append(real.json["data"]["id"])
        if method == "DELETE":
            world.ids["resource"].remove(int(path.rpartition("/")[2]))
        before = after

    assert saved > writes // 3
    assert changing > writes // 6
    assert keeping > writes // 50
