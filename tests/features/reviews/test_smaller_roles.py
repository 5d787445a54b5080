"""Smaller roles change no recorded decision, and nothing can be left out of them: compared by brute force."""

from datetime import UTC, date, datetime, timedelta
from itertools import chain, combinations
from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from service.authz.engine.policy import Policy
from service.authz.engine.rules import ENDPOINT, RESOURCE, Rule
from service.features.decision_log.decision_event import DecisionEvent, encoded
from service.features.reviews.store_unused import GivenCode
from service.features.reviews.unused import Logged, Rights, SmallerRole, grants, least_codes, read_log
from service.kernel.codes import HeldCodes
from tests.policies.stock import MODEL

CODES = ("a:x", "a:y", "b:x", "b:y:z")
WILD = ("*", "a:*", "b:*", "*:x")
NOW = datetime.now(UTC)
SINCE = NOW.date() - timedelta(days=9)
LONG_AGO = NOW - timedelta(days=100)

_sets = st.frozensets(st.sampled_from((*CODES, *WILD)), min_size=1, max_size=4)
_routes = st.lists(
    st.lists(st.sampled_from(CODES), min_size=1, max_size=3, unique=True), min_size=1, max_size=4
)
_asked = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3), st.integers(0, 20)), max_size=12)


class World(NamedTuple):
    """A policy, what each role gives, the roles of each user, and which decisions were allowed."""

    policy: Policy
    roles: list[frozenset[str]]
    users: list[frozenset[int]]
    allowed: set[tuple[int, str]]
    uses: dict[tuple[int, str], date]
    log: list[bytes]

    def held(self, user: int, roles: list[frozenset[str]]) -> HeldCodes:
        return HeldCodes(chain.from_iterable(roles[role] for role in self.users[user]))

    def rights(self, buttons: frozenset[str]) -> Rights:
        given_codes = [
            GivenCode(number, f"r{number}", code, LONG_AGO)
            for number, codes in enumerate(self.roles)
            for code in sorted(codes)
        ]
        last: dict[int, dict[str, int]] = {}
        for (user, code), day in self.uses.items():
            for role in self.users[user]:
                codes, after = last.setdefault(role, {}), (day - SINCE).days
                codes[code] = max(after, codes.get(code, after))
        return Rights(SINCE, tuple(given_codes), buttons, last)


@st.composite
def worlds(draw: st.DrawFn) -> World:
    routes = {f"GET /{number}": codes for number, codes in enumerate(draw(_routes))}
    lines = [Rule(RESOURCE, "@unregistered", "@login")]
    lines += [Rule(ENDPOINT, route, code) for route, codes in routes.items() for code in codes]
    policy = Policy(MODEL.read_text(), lines, {}, 1)
    roles = draw(st.lists(_sets, min_size=1, max_size=3))
    numbers = st.frozensets(st.integers(0, len(roles) - 1), min_size=1, max_size=2)
    world = World(policy, roles, [draw(numbers) for _ in range(3)], set(), {}, [])
    for user, place, ago in draw(_asked):
        route = [*routes][place % len(routes)]
        held = world.held(user, roles)
        decision = policy.judge(ENDPOINT, route, held)
        time = NOW - timedelta(hours=ago)
        if decision.line is not None:
            world.allowed.add((user, route))
            use, day = (user, decision.line.code), time.date()
            world.uses[use] = max(day, world.uses.get(use, day))
        world.log.append(_event(policy, world, user, route, time))
    # The log goes back to before the time.
    world.log.append(_event(policy, world, 0, next(iter(routes)), LONG_AGO))
    return world


def _event(policy: Policy, world: World, user: int, route: str, time: datetime) -> bytes:
    held = world.held(user, world.roles)
    decision = policy.judge(ENDPOINT, route, held)
    method, _, path = route.partition(" ")
    event = DecisionEvent(
        time=time.isoformat(),
        outcome="allow" if decision.allowed else "deny",
        decision=decision.id,
        revision=1,
        own_digest="0" * 64,
        request_id="7",
        method=method,
        route=path,
        path=path,
        user_id=user,
        roles=tuple(f"r{role}" for role in sorted(world.users[user])),
        codes=held.codes,
        layer=ENDPOINT,
        object=route,
        line=None if decision.line is None else str(decision.line),
        code=None if decision.line is None else decision.line.code,
    )
    return encoded(event)


def _with(world: World, smaller: list[SmallerRole]) -> list[frozenset[str]]:
    roles = [*world.roles]
    for each in smaller:
        roles[each.role_id] = frozenset(each.proposed)
    return roles


def _subsets(codes: frozenset[str]) -> list[frozenset[str]]:
    """Return the proper subsets."""
    return [frozenset(some) for size in range(len(codes)) for some in combinations(sorted(codes), size)]


def _require_unchanged(world: World, roles: list[frozenset[str]]) -> None:
    for user, route in world.allowed:
        assert world.policy.judge(ENDPOINT, route, world.held(user, roles)).allowed, (user, route)
    for role, codes in enumerate(roles):
        for code in codes:
            assert grants(HeldCodes(world.roles[role]), code), "a smaller role gives nothing new"


@given(worlds(), st.frozensets(st.sampled_from((*CODES, *WILD))))
@settings(max_examples=150, deadline=None)
def test_by_use_no_recorded_decision_changes_and_no_code_can_be_left_out(
    world: World, buttons: frozenset[str]
) -> None:
    roles = _with(world, world.rights(buttons).smaller_roles(Logged(), whole=False))
    _require_unchanged(world, roles)
    for role, codes in enumerate(roles):
        needed = {code for user, code in world.uses if role in world.users[user]}
        needed = {code for code in needed if grants(HeldCodes(world.roles[role]), code)}
        for fewer in _subsets(codes):
            assert not all(grants(HeldCodes(fewer), code) for code in needed), (role, codes, fewer)
        assert all(grants(HeldCodes(codes), code) for code in needed)


@given(worlds(), st.frozensets(st.sampled_from((*CODES, *WILD))))
@settings(max_examples=150, deadline=None)
def test_by_replay_no_logged_decision_changes_and_no_code_can_be_left_out(
    world: World, buttons: frozenset[str]
) -> None:
    logged = read_log(world.policy, world.log, SINCE)
    assert logged.is_whole(SINCE)
    roles = _with(world, world.rights(buttons).smaller_roles(logged, whole=True))
    _require_unchanged(world, roles)
    for role, codes in enumerate(roles):
        attributed = set()
        for user, route in world.allowed:
            line = world.policy.judge(ENDPOINT, route, world.held(user, world.roles)).line
            if role in world.users[user] and line is not None:
                attributed |= {route} if grants(HeldCodes(world.roles[role]), line.code) else set()
        for fewer in _subsets(codes):
            passes = [world.policy.judge(ENDPOINT, route, HeldCodes(fewer)).allowed for route in attributed]
            assert not all(passes), (role, codes, fewer)


@given(worlds())
@settings(max_examples=50, deadline=None)
def test_a_log_that_lacks_what_was_used_leaves_nothing_out_for_it(world: World) -> None:
    logged = read_log(world.policy, world.log[-1:], SINCE)
    buttons = frozenset(CODES)
    by_log = world.rights(buttons).smaller_roles(logged, whole=True)

    assert by_log == world.rights(buttons).smaller_roles(Logged(), whole=False)


@given(worlds(), st.frozensets(st.sampled_from((*CODES, *WILD))))
@settings(max_examples=100, deadline=None)
def test_what_was_needed_counts_for_each_role_whose_codes_grant_it(
    world: World, buttons: frozenset[str]
) -> None:
    rights = world.rights(buttons)
    needed = {role: rights.uses.get(role, {}) for role in range(len(world.roles))}

    assert rights.covered == {
        role: {code for code in needed[role] if grants(HeldCodes(codes), code)}
        for role, codes in enumerate(world.roles)
        if codes
    }
    assert rights.unused_codes() == [
        each
        for each in rights.given
        if not any(grants(HeldCodes([each.code]), code) for code in needed[each.role_id])
    ]


_codes = st.sampled_from((*CODES, *WILD))


@given(
    st.frozensets(_codes, min_size=1),
    st.frozensets(_codes),
    st.lists(st.sampled_from(CODES), max_size=4),
    st.sets(st.frozensets(st.sampled_from(CODES), min_size=1, max_size=3), max_size=5),
    st.frozensets(_codes, max_size=2),
)
@settings(max_examples=300, deadline=None)
def test_the_widest_codes_are_left_out_first_one_after_the_other(
    codes: frozenset[str],
    buttons: frozenset[str],
    needed: list[str],
    questions: set[frozenset[str]],
    keeping: frozenset[str],
) -> None:
    needed = [code for code in needed if grants(HeldCodes(codes), code)]
    by_width = sorted(codes, key=lambda code: (code.count("*"), -code.count(":"), code))
    expected = {*keeping}
    for code in needed:
        holding = (each for each in by_width if grants(HeldCodes([each]), code))
        expected.add(code if code in buttons else next(holding))
    for code in sorted(expected - keeping, key=lambda code: (-code.count("*"), code.count(":"), code)):
        rest = HeldCodes(expected - {code})
        if all(any(grants(rest, each) for each in question) for question in questions):
            expected.discard(code)

    assert least_codes(codes, buttons, needed, questions, keeping=keeping) == expected


def test_a_wildcard_becomes_what_was_needed_of_it() -> None:
    questions = {frozenset(["a:x"]), frozenset(["b:y:z"])}

    assert least_codes(["*"], CODES, ["a:x", "b:y:z"], questions) == {"a:x", "b:y:z"}
    assert least_codes(["*", "a:*"], ["b:y:z"], ["a:x", "b:y:z"], questions) == {"a:*", "b:y:z"}
    assert least_codes(["*"], CODES, [], set()) == set()


def test_of_two_codes_that_open_the_same_the_one_that_opens_more_of_what_was_needed_stays() -> None:
    questions = {frozenset(["a:x", "a:y"]), frozenset(["a:y"])}

    assert least_codes(["a:x", "a:y"], CODES, ["a:x", "a:y"], questions) == {"a:y"}


def test_codes_that_were_given_lately_stay() -> None:
    lately = GivenCode(1, "r1", "b:x", NOW)
    rights = Rights(SINCE, (GivenCode(1, "r1", "a:x", LONG_AGO), lately), CODES, {})

    assert rights.unused_codes() == [GivenCode(1, "r1", "a:x", LONG_AGO)]
    (smaller,) = rights.smaller_roles(Logged(), whole=False)
    assert (smaller.proposed, smaller.recent) == (("b:x",), ("b:x",))
