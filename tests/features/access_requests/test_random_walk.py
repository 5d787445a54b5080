"""Random walks of requests, decisions, edits and detours over two nodes, against an account of their own."""

import asyncio
import itertools
import secrets
from collections import Counter
from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

import psycopg
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from service.features.embedded.stores import EmbeddedStores
from tests.support.databases import database, session_store
from tests.support.inside import Inside, inside_published
from tests.support.members import member
from tests.support.rules_oracle import covers
from tests.support.seeded import ADMINISTRATOR_PASSWORD
from tests.web.driver import Answer

FIRST, SECOND, TARGET = "system:user:list", "system:role:list", "system:file:list"
"""The codes of the two stages, and that of the role that is asked for."""
PEOPLE: Final = {
    "ann": ("*",),
    "gus": ("*",),
    "bob": (FIRST, TARGET),
    "cid": (SECOND, TARGET),
    "dot": (FIRST, SECOND, TARGET),
    "eve": (FIRST,),
    "fay": (),
}
"""Who there is at first, and the codes of their roles: two may do everything, the last one only asks."""
EDITORS: Final = ("ann", "gus")
STAGES: Final = (
    [{"code": FIRST, "approvals": 1}],
    [{"code": FIRST, "approvals": 2}],
    [{"code": FIRST, "approvals": 1}, {"code": SECOND, "approvals": 1}],
)
GIVEN: Final = ("bob", "cid", "dot")
"""Whose roles are given to others."""
RUN: Final = (Phase.explicit, Phase.reuse, Phase.generate)

HELD: Final = """
SELECT u.id, array_agg(auth_mark) FROM sys."user" u
    JOIN sys.user_role a ON a.user_id = u.id AND coalesce(valid_from <= now(), true)
        AND coalesce(valid_until > now(), true)
    JOIN sys.role r ON r.id = a.role_id AND r.enabled
    JOIN sys.role_menu ON role_menu.role_id = r.id
    JOIN sys.menu m ON m.id = menu_id AND m.enabled AND menu_type = 'Button'
WHERE u.status = 'enabled' AND NOT EXISTS (SELECT FROM sys.user_ban b WHERE b.user_id = u.id)
GROUP BY u.id
"""
GRANT: Final = """
SELECT user_id, role_id, source, valid_from, valid_until FROM sys.user_role WHERE id = %s
UNION ALL
SELECT user_id, role_id, source, valid_from, valid_until FROM sys.ended_assignment WHERE id = %s
"""
REQUESTS: Final = (
    "SELECT id, state, user_id, assignment_id FROM sys.access_request WHERE role_id = %s ORDER BY id"
)


@dataclass
class World:
    """Two nodes of one service, and the connection over which the account is kept."""

    runner: asyncio.Runner
    nodes: tuple[Inside, ...]
    connection: psycopg.Connection[Any]
    done: Counter[str] = field(default_factory=Counter)

    def rows(self, statement: str, *values: object) -> list[Any]:
        return self.connection.execute(statement.encode(), values).fetchall()


@dataclass
class Asked:
    """A request as the walk has seen it: its limits, whom its author's person appointed, and who decided."""

    author: int
    longest: timedelta
    stages: list[dict[str, Any]]
    grant_needed: bool
    appointed: set[int] = field(default_factory=set)
    approved: dict[int, datetime | None] = field(default_factory=dict)
    ended: tuple[str, int | None] | None = None


class Walk(RuleBasedStateMachine):
    """Everybody tries everything, at either node."""

    world: World
    numbers = itertools.count(1)

    def __init__(self) -> None:
        super().__init__()
        self.number = next(self.numbers)
        self.ids: dict[str, int] = {}
        self.tokens: dict[str, str | None] = {}
        self.roles: dict[str, int] = {}
        self.asked: dict[int, Asked] = {}
        self.acted: set[tuple[int, int, bool]] = set()  # who made, or took over (True), which account
        self.rule: dict[str, Any] = {}
        self.target = 0

    def send(self, node: int, who: str, method: str, path: str, body: Any = None) -> Answer:
        """Send a request as somebody, with a current token; one that can't log in is refused."""

        async def sent() -> Answer:
            service = self.world.nodes[node]
            for _ in range(2):
                if self.tokens.get(who) is None:
                    login = {"userName": self.called(who), "password": ADMINISTRATOR_PASSWORD, "device": who}
                    answer = await service.ask("POST", "/api/auth/login", login)
                    if answer.status != 200:
                        return answer
                    self.tokens[who] = answer.json["data"]["accessToken"]
                answer = await service.ask(method, path, body, token=self.tokens[who])
                if answer.status != 401:
                    break
                self.tokens[who] = None
            assert answer.status < 500, answer.body
            return answer

        answer = self.world.runner.run(sent())
        self.world.done[f"{method} {path.rpartition('/')[2].rstrip('0123456789')} {answer.status}"] += 1
        return answer

    def called(self, who: str) -> str:
        return f"{who}-{self.number}"

    def who(self, place: int) -> str:
        return sorted(self.ids)[place % len(self.ids)]

    def place(self, who: str) -> int:
        return sorted(self.ids).index(who)

    def held(self) -> dict[int, list[str]]:
        return dict(self.world.rows(HELD))

    @initialize()
    def begin(self) -> None:
        service = self.world.nodes[0]
        for name, codes in PEOPLE.items():
            person = self.world.runner.run(member(service, self.called(name), *codes))
            self.ids[name], self.roles[name], self.tokens[name] = person.user_id, person.role_id, person.token
        code = f"target-{self.number}"
        body = {"roleName": code, "roleCode": code, "permissions": [TARGET]}
        self.target = self.send(0, "gus", "POST", "/api/role", body).json["data"]["id"]
        self.set_rule(0, "gus", STAGES[0], True, 600)

    @rule(
        node=st.sampled_from((0, 1)),
        who=st.sampled_from(EDITORS),
        stages=st.sampled_from(STAGES),
        grant_needed=st.booleans(),
        most=st.sampled_from((60, 600)),
    )
    def set_rule(self, node: int, who: str, stages: Any, grant_needed: bool, most: int) -> None:
        body = {"requestableBy": "@login", "stages": stages, "maxDuration": most, "pendingTimeout": 600}
        body |= {"reasonRequired": False, "grantNeeded": grant_needed}
        if self.send(node, who, "PUT", f"/api/role/{self.target}/request-rule", body).status == 200:
            self.rule = body

    @rule(
        node=st.sampled_from((0, 1)),
        who=st.sampled_from(("ann", "fay", "dot", "ann", "fay")),
        seconds=st.sampled_from((30, 60, 61, 600)),
    )
    def ask(self, node: int, who: str, seconds: int) -> None:
        body = {"roleId": self.target, "duration": seconds}
        answer = self.send(node, who, "POST", "/api/access-request", body)
        if answer.status != 201:
            return
        assert seconds <= self.rule["maxDuration"]
        author = self.ids[who]
        self.asked[answer.json["data"]["id"]] = Asked(
            author,
            timedelta(seconds=seconds),
            self.rule["stages"],
            self.rule["grantNeeded"],
        )

    def behind(self, user_id: int) -> set[tuple[int, bool]]:
        """Return who stands behind an account, itself too, and whether one on the way was taken over."""
        behind, new = set(), {(user_id, False)}
        while new:
            behind |= new
            steps = itertools.product(new, self.acted)
            new = {(by, taken or how) for (below, taken), (by, on, how) in steps if on == below} - behind
        return behind

    def is_one_person(self, first: int, second: int, *parties: int) -> bool:
        """Return whether one stands behind the other, or a party, or who took one over, behind both."""
        pairs = itertools.product(self.behind(first), self.behind(second))
        return any(
            by == also_by and (taken or also_taken or by in (first, second, *parties))
            for (by, taken), (also_by, also_taken) in pairs
        )

    def appoints(self, actor: str, on: int) -> None:
        """Note that somebody has given another account rights."""
        by = self.ids[actor]
        for request in self.asked.values():
            in_circle = by in request.appointed or self.is_one_person(by, request.author)
            if request.ended is None and in_circle and on != request.author:
                request.appointed.add(on)

    def is_another(self, request: Asked, user_id: int) -> bool:
        """Return whether an account is another person than the author, and was not appointed."""
        same = self.is_one_person(user_id, request.author, *request.approved)
        return user_id not in request.appointed and not same

    @rule(
        node=st.sampled_from((0, 1)),
        place=st.integers(0, 9),
        which=st.integers(0, 3),
        decision=st.sampled_from(("approve", "approve", "approve", "approve", "deny")),
        shorter=st.sampled_from((None, None, 20)),
    )
    def decide(self, node: int, place: int, which: int, decision: str, shorter: int | None) -> None:
        if not self.asked:
            return
        who, number = self.who(place), sorted(self.asked)[-1 - which % len(self.asked)]
        body: dict[str, Any] = {"decision": decision, "reason": "As agreed"}
        until = None
        if shorter is not None:
            ((until,),) = self.world.rows("SELECT now() + %s * interval '1 s'", shorter)
            body["until"] = until.isoformat()
        answer = self.send(node, who, "POST", f"/api/access-request/{number}/decision", body)
        request = self.asked[number]
        if answer.status == 200 and decision == "approve" and request.ended is None:
            # A second decision is answered, and has no effect.
            assert self.ids[who] in request.approved or self.is_another(request, self.ids[who]), (who, number)
            request.approved.setdefault(self.ids[who], until)

    @rule(
        node=st.sampled_from((0, 1)),
        who=st.sampled_from(("ann", "fay", "dot")),
        seconds=st.sampled_from((30, 60)),
        places=st.lists(st.integers(0, 9), min_size=1, max_size=4),
    )
    def ask_and_have_others_approve(self, node: int, who: str, seconds: int, places: list[int]) -> None:
        self.ask(node, who, seconds)
        for place in places:
            self.decide(1 - node, place, 0, "approve", None)

    @rule(
        node=st.sampled_from((0, 1)),
        how=st.sampled_from(("account", "roles", "password", "friend")),
        place=st.integers(0, 9),
        earlier=st.booleans(),
    )
    def ask_and_approve_by_a_detour(self, node: int, how: str, place: int, earlier: bool) -> None:
        if not earlier:
            self.ask(node, "ann", 30)
        if how == "account":
            self.make_account(1 - node, "ann", "dot")
            place = sorted(self.ids).index(max(self.ids, key=self.ids.__getitem__))
        elif how == "roles":
            self.give_roles(1 - node, "ann", place, ["dot"])
        elif how == "password":
            self.set_password(1 - node, "ann", place)
        if earlier:
            self.ask(node, "ann", 30)
        self.decide(1 - node, place, 0, "approve", None)

    @rule(node=st.sampled_from((0, 1)), place=st.integers(0, 9), which=st.integers(0, 3))
    def cancel(self, node: int, place: int, which: int) -> None:
        if self.asked:
            number = sorted(self.asked)[-1 - which % len(self.asked)]
            who = self.who(place)
            answer = self.send(node, who, "DELETE", f"/api/access-request/{number}")
            assert answer.status != 200 or self.ids[who] == self.asked[number].author

    @rule(
        node=st.sampled_from((0, 1)),
        actor=st.sampled_from(EDITORS),
        place=st.integers(0, 9),
        given=st.lists(st.sampled_from(GIVEN), max_size=2, unique=True),
    )
    def give_roles(self, node: int, actor: str, place: int, given: list[str]) -> None:
        on = self.ids[self.who(place)]
        before = self.held().get(on, [])
        body = {"roleIds": [self.roles[name] for name in given]}
        if self.send(node, actor, "PATCH", f"/api/user/{on}", body).status == 200:
            gained = self.held().get(on, [])
            if any(covers(gained, code) and not covers(before, code) for code in (FIRST, SECOND)):
                self.appoints(actor, on)

    @rule(node=st.sampled_from((0, 1)), actor=st.sampled_from(EDITORS), place=st.integers(0, 9))
    def set_password(self, node: int, actor: str, place: int) -> None:
        on = self.ids[self.who(place)]
        body = {"newPassword": ADMINISTRATOR_PASSWORD}
        answer = self.send(node, actor, "PUT", f"/api/user/{on}/password", body)
        if answer.status == 200 and on != self.ids[actor]:
            self.acted.add((self.ids[actor], on, True))

    @rule(node=st.sampled_from((0, 1)), actor=st.sampled_from(EDITORS), given=st.sampled_from(GIVEN))
    def make_account(self, node: int, actor: str, given: str) -> None:
        name = f"new{len(self.ids)}"
        body = {"userName": self.called(name), "nickName": name, "password": ADMINISTRATOR_PASSWORD}
        answer = self.send(node, actor, "POST", "/api/user", body | {"roleIds": [self.roles[given]]})
        if answer.status == 201:
            self.ids[name] = answer.json["data"]["id"]
            self.acted.add((self.ids[actor], self.ids[name], False))
            self.appoints(actor, self.ids[name])

    @rule(
        node=st.sampled_from((0, 1)),
        actor=st.sampled_from(EDITORS),
        place=st.integers(0, 9),
        status=st.sampled_from(("enabled", "enabled", "disabled")),
    )
    def set_status(self, node: int, actor: str, place: int, status: str) -> None:
        on = self.ids[self.who(place)]
        before = self.world.rows('SELECT status FROM sys."user" WHERE id = %s', on)
        answer = self.send(node, actor, "PUT", f"/api/user/{on}/status", {"status": status})
        if answer.status == 200 and status == "enabled" and before != [("enabled",)]:
            self.appoints(actor, on)

    @rule(
        node=st.sampled_from((0, 1)),
        actor=st.sampled_from(EDITORS),
        enabled=st.sampled_from((True, True, False)),
    )
    def switch_role(self, node: int, actor: str, enabled: bool) -> None:
        self.send(node, actor, "PATCH", f"/api/role/{self.target}", {"enabled": enabled})

    @rule(which=st.integers(0, 3))
    def let_the_deadline_pass(self, which: int) -> None:
        if self.asked:
            number = sorted(self.asked)[-1 - which % len(self.asked)]
            self.world.connection.execute(
                b"UPDATE sys.access_request SET deadline = create_time WHERE id = %s AND state = 'pending'",
                [number],
            )

    @rule(actor=st.sampled_from(EDITORS), node=st.sampled_from((0, 1)))
    def revoke_what_was_given(self, actor: str, node: int) -> None:
        rows = self.world.rows("SELECT user_id, id FROM sys.user_role WHERE role_id = %s", self.target)
        for user_id, assignment_id in rows:
            self.send(node, actor, "DELETE", f"/api/user/{user_id}/roles/{assignment_id}")

    @invariant()
    def what_was_given_was_approved_and_what_has_ended_stays(self) -> None:
        held = self.held()
        given = set()
        for number, state, author, assignment_id in self.world.rows(REQUESTS, self.target):
            request = self.asked[number]
            assert author == request.author
            if request.ended is not None:
                assert (state, assignment_id) == request.ended, "what has ended has changed"
            elif state != "pending":
                assert state in ("approved", "denied", "expired", "cancelled", "failed")
                request.ended = state, assignment_id
                if state == "approved":
                    self.world.done["granted"] += 1
                    self.require_approved(request, held, assignment_id)
            given.add(assignment_id)
        rows = self.world.rows(
            "SELECT id FROM sys.user_role WHERE role_id = %s AND source = 'request'", self.target
        )
        assert {number for (number,) in rows} <= given, "a role was given without a request"

    def require_approved(self, request: Asked, held: dict[int, list[str]], assignment_id: int | None) -> None:
        """Assert that different people who may, and who are not the author's person, passed each stage."""
        ((user_id, role_id, source, begins, ends),) = self.world.rows(GRANT, assignment_id, assignment_id)
        assert (user_id, role_id, source) == (request.author, self.target, "request")
        counting = [
            user_id
            for user_id in request.approved
            if self.is_another(request, user_id)
            and (not request.grant_needed or covers(held.get(user_id, []), TARGET))
        ]
        places = [stage["code"] for stage in request.stages for _ in range(stage["approvals"])]
        assert any(
            all(covers(held.get(person, []), code) for person, code in zip(chosen, places, strict=True))
            for chosen in itertools.permutations(counting, len(places))
            if not any(
                self.is_one_person(*pair, request.author, *request.approved)
                for pair in itertools.combinations(chosen, 2)
            )
        ), (request, counting)
        ((now,),) = self.world.rows("SELECT now()")
        assert ends is not None
        assert ends - (begins or now) <= request.longest + timedelta(seconds=1)
        limits = [until for until in map(request.approved.get, counting) if until is not None]
        # Who no longer counts limits nothing: so the end obeys the limits of those without whom it fails.
        needed = limits if len(counting) == len(places) else []
        assert all(ends <= until for until in needed)


@pytest.fixture(scope="module")
def world(stores: EmbeddedStores, published_template: str) -> Iterator[World]:
    """Two nodes of one service."""
    with (
        database(stores, published_template) as url,
        session_store(stores) as redis_url,
        asyncio.Runner() as runner,
        psycopg.connect(url, autocommit=True) as connection,
    ):
        stack = AsyncExitStack()
        variables = {"PORTCULLIS_THROTTLE__ENABLED": "false", "JWT_SECRET": secrets.token_urlsafe(48)}

        async def begin() -> tuple[Inside, ...]:
            nodes = [
                await stack.enter_async_context(inside_published(url, redis_url, **variables))
                for _ in range(2)
            ]
            return tuple(nodes)

        yield World(runner, runner.run(begin()), connection)
        runner.run(stack.aclose())


@pytest.mark.parametrize("walks", [3, pytest.param(100, marks=pytest.mark.extended)])
def test_no_walk_gives_a_role_without_its_approvals_or_for_longer_or_changes_what_has_ended(
    world: World, walks: int
) -> None:
    world.done.clear()
    kind = type("WalkInWorld", (Walk,), {"world": world})
    # No shrinking: a walk is read as fast as a dozen more are run.
    run_state_machine_as_test(
        kind,
        settings=settings(
            max_examples=walks,
            stateful_step_count=40,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            phases=RUN,
        ),
    )
    assert world.done["granted"] >= walks // 3 or walks < 100, dict(world.done)  # not all are refused


def test_the_steps_of_a_walk_lead_to_a_grant_and_detours_do_not(world: World) -> None:
    walk = type("WalkInWorld", (Walk,), {"world": world})()
    walk.begin()
    led_to_a_grant = set()
    for how in ("account", "roles", "password"):
        for earlier in (False, True):
            before = world.done["granted"]
            walk.ask_and_approve_by_a_detour(0, how, walk.place("fay"), earlier)
            walk.what_was_given_was_approved_and_what_has_ended_stays()
            if world.done["granted"] > before:
                led_to_a_grant.add((how, earlier))
            walk.cancel(1, walk.place("ann"), 0)
            walk.revoke_what_was_given("gus", 0)
            walk.what_was_given_was_approved_and_what_has_ended_stays()
    assert led_to_a_grant == {("roles", True)}  # roles that were given before are no detour
    assert len(walk.asked) == 6
