"""Who gains and loses what, computed for all users at once, is what single decisions say of each of them."""

from collections import Counter
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from service.authz.engine.policy import Policy
from service.authz.engine.rules import ENDPOINT, Rule
from service.authz.publishing.derive import derive
from service.kernel.services import BoundResource, Service
from service.laboratory.analysis.impact import Difference, Roles, Standing, differences
from service.laboratory.proof.external_classes import every_compared_class
from service.laboratory.proof.request_classes import RequestClass
from tests.support.unstarted import SHIPPED

HELD = ("a:x", "a:y", "b:x", "a:*", "*:x", "*")
NEEDED = ("a:x", "a:y", "b:x", "c:x:z")
NAMES = ("r", "s", "t")
ROUTES = ("GET /a", "GET /a/{id}", "PUT /a")
Counted = dict[tuple[str | None, str], int]
Given = dict[str, tuple[str, ...]]
Moving = tuple[Roles | None, Roles | None]
"""The roles that a user had and has; None stands for a user who is not there, or may not log in."""

needed = st.lists(st.sampled_from(NEEDED), min_size=1, max_size=2, unique=True)
bound = st.lists(st.tuples(st.sampled_from(NEEDED), st.booleans()), max_size=2).map(sorted)
given_codes = st.dictionaries(
    st.sampled_from(NAMES), st.lists(st.sampled_from(HELD), max_size=2).map(tuple), min_size=1
)
role_sets = st.sets(st.sampled_from(NAMES)).map(lambda names: tuple(sorted(names)))
users = st.dictionaries(role_sets, st.integers(1, 9), max_size=6)
move = st.tuples(st.none() | role_sets, st.none() | role_sets)


@st.composite
def policies(draw: st.DrawFn) -> Policy:
    endpoints = [
        Rule(ENDPOINT, name, code)
        for name in ROUTES
        for code in draw(st.one_of(needed, st.sampled_from((["@login"], ["@anyone"], []))))
    ]
    resources = [
        BoundResource("GET", path, draw(bound), service)
        for path, service in (
            ("/a", "portcullis"),
            ("/a/7", "portcullis"),
            ("/s", "shop"),
            ("/s/{x}", "shop"),
        )
        if draw(st.booleans())
    ]
    shared = derive(resources, services=[Service("shop", ignore_case=draw(st.booleans()))])
    rules = [*SHIPPED.base, *endpoints, *shared]
    return Policy(SHIPPED.model_text, rules)


def passes(standing: Standing, request: RequestClass | None, roles: Roles | None) -> bool:
    """Ask the enforcer about one user; None, who is not there, passes what visitors pass."""
    held = None if roles is None else standing.held(roles)
    return request is not None and request.passes(standing.policy, held)


def credited(
    standing: Standing, request: RequestClass | None, roles: Roles, other: Roles | None
) -> set[str | None]:
    """Return the roles by which somebody passes who has ``roles``, and had or will have those of ``other``.

    What every login opens comes and goes with the login, by no role.
    """
    if other is None and passes(standing, request, ()):
        return {None}
    alone = {role for role in roles if passes(standing, request, (role,))}
    others = {role: tuple(other for other in roles if other != role) for role in roles}
    needing = {role for role in roles if not passes(standing, request, others[role])}
    return {*(alone or needing or roles or [None])}


def decided_singly(before: Standing, after: Standing, moves: Counter[Moving]) -> tuple[Counted, Counted]:
    """Return how many users gain and lose which request by which role, and 0 for roles without such users."""
    gains, loses = Counter[tuple[str | None, str]](), Counter[tuple[str | None, str]]()
    for role in before.codes.keys() & after.codes.keys():
        moves[(role,), (role,)] += 0
    for old, new in every_compared_class(before.policy, after.policy):
        request = new or old
        if request is None or (passes(before, old, None) and passes(after, new, None)):
            continue
        for (had, has), number in moves.items():
            could, can = passes(before, old, had), passes(after, new, has)
            # A visitor is no user: who comes loses nothing by it, and who goes gains nothing.
            if can and not could and has is not None:
                roles = credited(after, new, has, had)
                gains.update(dict.fromkeys(((role, request.name) for role in roles), number))
            if could and not can and had is not None:
                roles = credited(before, old, had, has)
                loses.update(dict.fromkeys(((role, request.name) for role in roles), number))
    return dict(gains), dict(loses)


def listed(entries: Sequence[Difference]) -> Counted:
    """Return the entries as ``decided_singly`` returns them."""
    assert [(each.role_code or "", each.users) for each in entries] == sorted(
        {(each.role_code or "", each.users) for each in entries}
    )
    return {(each.role_code, name): each.users for each in entries for name in each.access}


@given(st.tuples(policies(), policies()), st.tuples(given_codes, given_codes), users, move)
def test_gains_and_losses_of_all_users_are_those_of_each_user_by_the_enforcer(
    both: tuple[Policy, Policy], gives: tuple[Given, Given], staying: dict[Roles, int], moving: Moving
) -> None:
    moves = Counter[Moving]({(roles, roles): number for roles, number in staying.items()})
    if moving != (None, None):
        moves[moving] += 1
    before, after = (
        Standing(policy, codes, Counter(staying) + Counter([] if roles is None else [roles]))
        for policy, codes, roles in zip(both, gives, moving, strict=True)
    )

    changed = differences(before, after, moves=[(roles, roles) for roles in staying])

    assert (listed(changed.gains), listed(changed.loses)) == decided_singly(before, after, moves)
    assert changed.altered == {
        (roles, roles)
        for roles in staying
        for old, new in every_compared_class(*both)
        if passes(before, old, roles) != passes(after, new, roles)
    }


def test_a_service_that_one_policy_alone_knows_has_each_of_its_resources_once() -> None:
    before, plain, folding = (
        Policy(SHIPPED.model_text, [*SHIPPED.base, *derive(SHOP if services else [], services=services)])
        for services in ([], [Service("shop")], [Service("shop", ignore_case=True)])
    )
    for pair in ((before, folding), (folding, before)):
        assert served(*pair) == ["shop @unregistered", "shop GET /s"]
    assert "shop GET /S" in served(plain, folding)


SHOP = [BoundResource("GET", "/s", (), "shop")]


def served(before: Policy, after: Policy) -> list[str]:
    """Return the classes of requests to the shop that two policies distinguish."""
    requests = [new or old for old, new in every_compared_class(before, after)]
    return [request.name for request in requests if request is not None and request.service == "shop"]
