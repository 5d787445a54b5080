"""The walk of people over accounts against a service, whole and with one place cut."""
# ruff: noqa: ARG002 - a service is driven as its rules are; what is cut is inside

import asyncio
import itertools
import random
import secrets
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any, Final

import pytest
from sqlalchemy import text

from service.administration.delegation import DelegationCheck
from service.administration.people import People
from service.features.access_requests.self_approval import TakingPart
from service.features.embedded.stores import EmbeddedStores
from service.features.reviews import reviews as reviewing
from service.features.reviews.sign_offs import SignOffs
from service.kernel.persons import Persons
from service.records import account_control
from tests.features.access_requests.person_walk import PersonFoundError, Walk
from tests.features.access_requests.test_person_walk import Rules
from tests.support.databases import database, session_store
from tests.support.inside import Inside, inside_published
from tests.support.members import member
from tests.support.seeded import ADMINISTRATOR_PASSWORD
from tests.web.driver import Answer

pytestmark = pytest.mark.feature("reviews")

CODE: Final = "system:file:list"
RULE: Final = {"requestableBy": "@login", "maxDuration": 600, "pendingTimeout": 600, "reasonRequired": False}
REASON: Final = {"reason": "As agreed"}
_numbers = itertools.count(1)


@dataclass
class House:
    """A service, and who is signed in as which account."""

    runner: asyncio.Runner
    inside: Inside
    names: dict[int, str] = field(default_factory=dict)
    tokens: dict[int, str] = field(default_factory=dict)
    done: Counter[str] = field(default_factory=Counter)

    def send(self, by: int, method: str, path: str, body: Any = None) -> Answer:
        """Send a request as an account: everybody has the same password, and API keys stay."""

        async def sent() -> Answer:
            for _ in range(2):
                if by not in self.tokens:
                    self.tokens[by] = await self.inside.log_in(self.names[by], ADMINISTRATOR_PASSWORD)
                answer = await self.inside.ask(method, path, body, token=self.tokens[by])
                if answer.status != 401:
                    break
                del self.tokens[by]
            assert answer.status < 500, answer.body
            return answer

        answer = self.runner.run(sent())
        self.done[f"{method} {answer.status}"] += 1
        return answer

    def data(self, method: str, path: str, body: Any = None) -> Any:
        return self.runner.run(self.inside.data(method, path, body))


@dataclass
class Service:
    """The service, for one walk."""

    house: House
    acts: tuple[str, ...] = ("password", "address", "factor")
    roles: dict[str, str] = field(default_factory=dict)
    emergency: bool = False

    def __post_init__(self) -> None:
        self.mark = secrets.token_hex(3)

    def person(self) -> int:
        name = f"p{next(_numbers)}-{self.mark}"
        made = self.house.runner.run(member(self.house.inside, name, "*"))
        self.house.names[made.user_id], self.house.tokens[made.user_id] = name, made.token
        return made.user_id

    def made(self, by: int, **values: Any) -> int | None:
        name = f"n{next(_numbers)}-{self.mark}"
        body = {"userName": name, "nickName": name, "roleIds": [1], **values}
        answer = self.house.send(by, "POST", "/api/user", body)
        if answer.status != 201:
            return None
        number: int = answer.json["data"]["id"]
        self.house.names[number] = name
        return number

    def make(self, by: int, *, key_of: int | None = None) -> int | None:
        return self.made(by, password=ADMINISTRATOR_PASSWORD)

    def invite(self, maker: int, by: int) -> int | None:
        made = self.made(maker, invite=True)
        if made is None:
            return None
        link = self.house.send(by, "POST", f"/api/user/{made}/invitation")
        token = link.json["data"]["url"].partition("?token=")[2]
        body = {"token": token, "password": ADMINISTRATOR_PASSWORD}
        self.house.runner.run(self.house.inside.as_anonymous("POST", "/api/auth/invitation", body=body))
        return made

    def key(self, by: int) -> int | None:
        account = self.made(by, kind="service")
        if account is None:
            return None
        answer = self.house.send(by, "POST", f"/api/user/{account}/keys", {"name": "walk"})
        self.house.tokens[account] = answer.json["data"]["key"]
        return account

    def act(self, by: int, on: int, act: str, *, key_of: int | None = None) -> bool:
        path = f"/api/user/{on}"
        if act == "password":
            answer = self.house.send(by, "PUT", f"{path}/password", {"newPassword": ADMINISTRATOR_PASSWORD})
        elif act == "address":
            address = f"{secrets.token_hex(4)}@example.org"
            answer = self.house.send(by, "PATCH", path, {"email": address})
        else:
            answer = self.house.send(by, "DELETE", f"{path}/factors")
        return answer.status < 300

    def role(self, approvals: int) -> str:
        """Return a role of this walk whose rule takes so many approvals; each request asks for a new one."""
        code = f"r{next(_numbers)}-{self.mark}"
        body = {"roleName": code, "roleCode": code, "permissions": [CODE]}
        number = self.house.data("POST", "/api/role", body)["id"]
        stages = [{"code": CODE, "approvals": approvals}]
        self.house.data("PUT", f"/api/role/{number}/request-rule", RULE | {"stages": stages})
        return code

    def ask(self, by: int, approvals: int, *, emergency: bool) -> int | None:
        if emergency:
            return None  # it takes a second factor
        body = {"roleCode": self.role(approvals), "duration": 60}
        answer = self.house.send(by, "POST", "/api/access-request", body)
        return answer.json["data"]["id"] if answer.status == 201 else None

    def approve(self, by: int, request: int) -> bool | None:
        body = {"decision": "approve", **REASON}
        answer = self.house.send(by, "POST", f"/api/access-request/{request}/decision", body)
        return answer.json["data"]["state"] == "approved" if answer.status == 200 else None

    def close(self, by: int, request: int) -> bool:
        return False

    def review(self, by: int, about: int) -> bool:
        scope = {"userIds": [about]}
        body = {"title": "walk", "scope": scope, "reviewers": {}, "deadline": "2999-01-01T00:00:00Z"}
        begun = self.house.data("POST", "/api/review", body | {"onSilence": "keep", "apply": "at_end"})
        path = f"/api/review/{begun['id']}/item"
        item = self.house.data("GET", f"{path}/list")["items"][0]["id"]
        decided = self.house.send(by, "POST", f"{path}/{item}/decision", {"decision": "keep", **REASON})
        return decided.status == 200

    def change(self, by: int) -> bool:
        code = f"walk-{next(_numbers)}-{self.mark}"
        body = {"resourceName": code, "resourceCode": code, "method": "GET", "path": f"/{code}/x"}
        return self.house.send(by, "POST", "/api/resource", body).status == 201

    def sign_off(self, by: int) -> bool:
        revision = self.house.data("GET", "/api/policy/revisions?size=1")["items"][0]["revision"]
        path = f"/api/policy/revisions/{revision}/sign-off"
        return self.house.send(by, "POST", path, {"title": "walk"}).status == 200


@pytest.fixture(scope="module")
def house(stores: EmbeddedStores, published_template: str) -> Iterator[House]:
    with (
        database(stores, published_template) as url,
        session_store(stores) as redis_url,
        asyncio.Runner() as runner,
    ):
        stack = AsyncExitStack()
        variables = {
            "PORTCULLIS_THROTTLE__ENABLED": "false",
            "PORTCULLIS_PASSWORD__INITIAL": "false",
            "JWT_SECRET": secrets.token_urlsafe(48),
        }

        async def begin() -> Inside:
            return await stack.enter_async_context(inside_published(url, redis_url, **variables))

        yield House(runner, runner.run(begin()))
        runner.run(stack.aclose())


def walked(house: House, numbers: Iterable[int], steps: int) -> Counter[str]:
    """Take the walks with these numbers; raises ``PersonFoundError``."""
    done: Counter[str] = Counter()
    for number in numbers:
        system = Service(house)
        # Changes of the walk before are none of this one's.
        house.data("POST", "/api/resource", _resource(system.mark))
        walk = Walk(system, random.Random(number), done)
        signer = system.person()
        assert system.sign_off(signer)
        walk.run(steps)
    return done


def _resource(mark: str) -> dict[str, str]:
    return {"resourceName": mark, "resourceCode": mark, "method": "GET", "path": f"/{mark}/x"}


STEPS: Final = 80
LONG: Final = [pytest.mark.extended, pytest.mark.timeout(3600)]
"""Some thousand requests, one after another."""


@pytest.mark.parametrize(("walks", "steps"), [(1, 25), pytest.param(100, 50, marks=LONG)])
def test_no_walk_by_http_lets_one_person_decide_twice(house: House, walks: int, steps: int) -> None:
    done = walked(house, range(walks), steps)

    assert done["review True"] + done["approve True"] + done["sign off True"] > 0, done


Patch = Callable[[pytest.MonkeyPatch], None]


def without_edges(act: str) -> Patch:
    """Return what leaves out the edges of an act."""

    def cut(patch: pytest.MonkeyPatch) -> None:
        write = account_control.write

        async def some(connection: Any, holders: Any, accounts: Any, done: Any) -> None:
            if done != act:
                await write(connection, holders, accounts, done)

        patch.setattr(account_control, "write", some)

    return cut


def without_makers_of_keys(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(DelegationCheck, "acting_ids", property(lambda check: frozenset({check._caller.user_id})))
    write = account_control.write

    async def of_people(connection: Any, holders: Any, accounts: Collection[int], done: Any) -> None:
        # Who makes a service account stands behind it as well, whoever makes its keys.
        statement = text("SELECT id FROM sys.user WHERE kind = 'person' AND id = ANY(:ids)")
        people = (await connection.execute(statement, {"ids": [*accounts]})).scalars().all()
        if people:
            await write(connection, holders, people, done)

    patch.setattr(account_control, "write", of_people)


def without_steps(patch: pytest.MonkeyPatch) -> None:
    leading_to = account_control.leading_to

    async def direct(connection: Any, accounts: Collection[int], since: Any) -> list[Any]:
        edges = await leading_to(connection, accounts, since)
        return [edge for edge in edges if {edge.holder_id, edge.account_id} <= {*accounts}]

    patch.setattr(account_control, "leading_to", direct)


def without_joining(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Persons, "_joining", lambda *_: None)


def without_author(patch: pytest.MonkeyPatch) -> None:
    async def anybody(*_: Any) -> None:
        return None

    patch.setattr(TakingPart, "not_another", anybody)
    patch.setattr(TakingPart, "parties", property(lambda self: {*self.approvers}))


def without_approvers(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(TakingPart, "approvers", property(lambda _: []))


def without_review(patch: pytest.MonkeyPatch) -> None:
    class Blind(People):
        async def of(self, connection: Any, parties: Any, at: Any, beside: Any = ()) -> Persons:
            return Persons((), parties, at)

    allowed = reviewing._allowed

    async def blind(unit: Any, review: Any, item: Any, people: People, at: Any) -> Any:
        return await allowed(unit, review, item, Blind(people.takeover_days), at)

    patch.setattr(reviewing, "_allowed", blind)


def without_sign_off(patch: pytest.MonkeyPatch) -> None:
    async def anybody(*_: Any) -> None:
        return None

    patch.setattr(SignOffs, "same_person", anybody)


class ByHttp(Rules):
    """The rules as a walk by HTTP meets them: no emergency, which takes a second factor."""

    def ask(self, by: int, approvals: int, *, emergency: bool) -> int | None:  # type: ignore[override]
        return None if emergency else super().ask(by, approvals, emergency=False)

    def close(self, by: int, request: int) -> bool:
        return False


def numbers_by_the_rules(cut: str) -> Iterator[int]:
    """Yield the numbers of walks that find a person by the rules with the same cut; by HTTP one is slow."""
    for number in itertools.count():
        system = ByHttp("maker of a key" if cut == "makers of keys" else cut, Service.acts)
        system.person()  # who signs off before the walk
        try:
            Walk(system, random.Random(number)).run(STEPS)
        except PersonFoundError:
            yield number


CUTS: Final[dict[str, Patch]] = {
    **{f"edge {act}": without_edges(act) for act in ("made", "password", "address", "factor", "link")},
    "makers of keys": without_makers_of_keys,
    "steps": without_steps,
    "others' takeovers": without_joining,
    "author": without_author,
    "approvers": without_approvers,
    "review": without_review,
    "sign-off": without_sign_off,
}


@pytest.mark.parametrize("cut", [pytest.param(cut, marks=LONG) for cut in CUTS])
def test_with_the_service_cut_in_one_place_a_walk_finds_a_person_who_decides_as_two(
    house: House, cut: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    CUTS[cut](monkeypatch)

    numbers = itertools.islice(numbers_by_the_rules(cut), 10)
    with pytest.raises(PersonFoundError):
        walked(house, numbers, STEPS)
