"""Thousands of requests of random callers are decided as an independent statement of the rules says."""

import random
from dataclasses import replace
from typing import NamedTuple

import pytest

from service.authn.authenticate import Authenticator
from service.authn.verified import Authenticated
from service.authz.engine.policy import Policy
from service.authz.engine.rules import Rule
from service.errors import too_weak
from service.kernel.assurance import Authentication
from service.kernel.codes import HeldCodes
from service.kernel.identity import Caller, words_asked
from service.kernel.origin import Span
from service.kernel.permission_map import PermissionMap
from service.web.requests.credentials import HeaderToken
from service.web.requests.guard import AuthorizationGuard
from tests.web.driver import ask
from tests.web.example_service import example
from tests.web.test_guard import ENDPOINTS, OPENINGS, REVISION, NeverAsked, live_policy

REQUESTS = 100
BY_GUARD = 10  # of the requests to each policy; all others ask the policy, which is faster
NOW = 1_000_000.0
STRENGTH = {"pwd": 1, "mfa": 2, "phr": 3}
LEVELS = {"login": 1, "two-factors": 2, "phishing-resistant": 3}
MINUTES = {"15m": 15, "12h": 720}
WORDS = [
    "@anyone",
    "@initial",
    "@service",
    *(f"@{level}" for level in LEVELS),
    *(f"@{level}-within-{age}" for level in LEVELS for age in MINUTES),
]
NEEDED = {"/api/thing": {"thing:list", "thing:create"}, "/api/thing/7": {"thing:list"}, "/api/echo": set()}
ROUTES = {"/api/thing": "GET /api/thing", "/api/thing/7": "GET /api/thing/{id}", "/api/echo": "GET /api/echo"}


class Somebody(NamedTuple):
    """A caller; ``acr`` is None for a service account, and ``minutes`` the age of the proof."""

    codes: tuple[str, ...]
    acr: str | None
    minutes: float
    initial: bool

    @property
    def caller(self) -> Caller:
        person = self.acr is not None
        since = NOW - self.minutes * 60
        proof = Authentication(self.acr, ("pwd",), since, self.initial) if self.acr else None  # type: ignore[arg-type]
        caller = Caller(1, "1", "a", "A", "web", (), HeldCodes(self.codes), 0.0, authentication=proof)
        return caller if person else replace(caller, kind="service")


def is_met(word: str, caller: Somebody) -> bool:
    """State the rule of one word, by numbers and without the words that include others."""
    if word in ("@anyone", "@service"):
        return word == "@anyone" or caller.acr is None
    if caller.acr is None:
        return False
    if word == "@initial" or caller.initial:
        return word == "@initial"
    level, _, age = word[1:].partition("-within-")
    return STRENGTH[caller.acr] >= LEVELS[level] and (not age or caller.minutes < MINUTES[age])


def expected(path: str, caller: Somebody, demands: dict[str, list[str]], bound: list[str]) -> int:
    """Return the status: the codes first, then both demands."""
    registered = path == "/api/thing/7" and bound
    if (NEEDED[path] and not NEEDED[path] & {*caller.codes}) or (
        registered and not {*bound} & {*caller.codes}
    ):
        return 403
    resource = "resource GET /api/thing/7" if registered else "resource @unregistered"
    for name in (resource, f"endpoint {ROUTES[path]}"):
        if not any(is_met(word, caller) for word in demands[name]):
            person = caller.acr is not None
            by_login = any(word[1:].startswith(tuple(LEVELS)) for word in demands[name])
            return 401 if person and by_login else 403
    return 200


class Door(Authenticator):
    """Lets in whoever stands before it."""

    def __init__(self) -> None:
        self.caller: Caller | None = None

    def remembered(self, sent: bytes, permission_map: PermissionMap, now: float) -> None:
        """Remember nothing."""

    async def authenticate(
        self, token: str, permission_map: PermissionMap, **_more: Span | bool | None
    ) -> Authenticated:
        assert token
        assert permission_map is not None
        assert self.caller is not None
        return Authenticated(self.caller, REVISION)


def status_of(policy: Policy, path: str, caller: Caller) -> int:
    decision = policy.judge_request("portcullis", "GET", path, caller.held, words_asked(caller, NOW))
    if decision.layer != "assurance":
        return 200 if decision.allowed else 403
    return too_weak(decision).status


def random_caller(dice: random.Random) -> Somebody:
    codes = dice.sample(("thing:list", "thing:create", "thing:other"), dice.randint(0, 3))
    minutes = dice.choice((0, 14.9, 15, 15.1, 719.9, 720, 800, dice.uniform(0, 900)))
    return Somebody(tuple(codes), dice.choice((None, *STRENGTH)), minutes, dice.random() < 0.1)


@pytest.mark.parametrize("policies", [24, pytest.param(100, marks=pytest.mark.extended)])
async def test_requests_are_decided_as_an_independent_statement_says(policies: int) -> None:
    dice = random.Random(30)
    seen = set()
    for _ in range(policies):
        bound = dice.sample(("thing:create", "thing:other"), dice.randint(0, 2))
        names = ["resource @unregistered", *(f"endpoint {route}" for route in ROUTES.values())]
        names += ["resource GET /api/thing/7"] if bound else []
        demands = {name: dice.sample(WORDS, dice.randint(0, 2) or 1) for name in names}
        rules = [*OPENINGS, *ENDPOINTS, *(Rule("resource", "GET /api/thing/7", code) for code in bound)]
        rules += [Rule("assurance", name, word) for name, words in demands.items() for word in words]
        live = live_policy([])
        live.offer(Policy(live.current.model_text, rules, {}, REVISION + 1))
        door = Door()
        guard = AuthorizationGuard(HeaderToken("X-Token", ""), door, live, NeverAsked(), now=lambda: NOW)
        app = example(guard)[0]
        for number in range(REQUESTS):
            somebody, path = random_caller(dice), dice.choice(list(ROUTES))
            door.caller = somebody.caller
            if number < BY_GUARD:
                status = (await ask(app, "GET", path, ("X-Token", "t"))).status
            else:
                status = status_of(live.current, path, somebody.caller)
            assert status == expected(path, somebody, demands, bound), (path, somebody, demands, bound)
            seen.add(status)
    assert seen == {200, 401, 403}
