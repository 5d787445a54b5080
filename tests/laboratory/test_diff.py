"""Who gains and loses what between two policies is what single decisions of both say."""

import random
from dataclasses import replace

from service.authz.engine.lines import Lines
from service.authz.engine.policy import Policy
from service.authz.engine.resource_index import ResourceIndex
from service.authz.engine.rules import ENDPOINT, Rule
from service.authz.publishing.derive import derive
from service.authz.publishing.shipped import Shipped
from service.features.explain.policy_layers import access_answer
from service.kernel.codes import HeldCodes
from service.kernel.services import BoundResource
from service.laboratory.analysis.impact import Standing, access_diff, line_diff
from service.web.messages.schema import PartQuery
from tests.support.cases import with_each
from tests.support.unstarted import SHIPPED

CODES = ("x:one", "x:two", "y:one", "@login", "@anyone")
HELD = ("x:one", "x:two", "y:one", "x:*", "*")
OBJECTS = (
    "GET /a",
    "GET /a/{id}",
    "GET /a/{other}",
    "GET /a/7",
    "PUT /a/{id}",
    "GET /b/{id}/c",
    "GET /b/7/{any}",
)
REQUESTS = (
    "GET /a",
    "GET /a/7",
    "GET /a/8",
    "PUT /a/7",
    "PUT /a/8",
    "GET /b/7/c",
    "GET /b/8/c",
    "GET /b/7/d",
)


def random_policy(dice: random.Random) -> Policy:
    endpoints: list[Rule] = []
    for name in ("GET /a", dice.choice(OBJECTS[1:3]), *OBJECTS[3:]):
        if dice.random() < 0.8:
            codes = (
                dice.sample(CODES[:3], dice.randint(1, 2)) if dice.random() < 0.8 else [dice.choice(CODES)]
            )
            endpoints += [Rule(ENDPOINT, name, code) for code in codes]
    registered = [
        BoundResource(method, path, [(dice.choice(CODES[:3]), dice.random() < 0.8)])
        for method, _, path in (
            name.partition(" ") for name in ("GET /a/{id}", "GET /a/7", "GET /b/{x}/{y}", "PUT /a/{id}")
        )
        if dice.random() < 0.5
    ]
    shipped = Shipped(SHIPPED.model_text, SHIPPED.base, tuple(endpoints))
    return shipped.policy(derive(registered, ["x:one"]), {}, 1)


def passes(policy: Policy, request: str, held: HeldCodes) -> bool:
    method, _, path = request.partition(" ")
    route = ResourceIndex(policy.rules.objects(ENDPOINT)).find(method, path)
    if route is None:
        return False
    public = policy.rules.codes(ENDPOINT, route) == ("@anyone",)
    asking = None if public else held
    resource = "@no-session" if public else policy.resource_at(method, path) or "@unregistered"
    return (
        policy.judge("resource", resource, asking).allowed and policy.judge(ENDPOINT, route, asking).allowed
    )


def shape(name: str) -> list[str]:
    return ["{}" if part.startswith("{") else part for part in name.split("/")]


def covers(name: str, request: str) -> bool:
    parts, segments = shape(name), request.split("/")
    return len(parts) == len(segments) and all(
        part in ("{}", segment) for part, segment in zip(parts, segments, strict=True)
    )


@with_each("seed", range(40))
def test_roles_gain_and_lose_what_the_two_policies_decide_differently(seed: int) -> None:
    dice = random.Random(seed)
    before, after = random_policy(dice), random_policy(dice)
    roles = {f"r{number}": tuple(dice.sample(HELD, dice.randint(0, 2))) for number in range(4)}
    diff = access_diff(before, Standing(after, roles, {}))

    for role, codes in roles.items():
        held = HeldCodes(codes)
        reported = {
            sign: {name for change in changes if change.role_code == role for name in change.access}
            for sign, changes in (("+", diff.by_role.gains), ("-", diff.by_role.loses))
        }
        for request in REQUESTS:
            could, can = passes(before, request, held), passes(after, request, held)
            exact = {
                sign: [name for name in names if covers(name, request)] for sign, names in reported.items()
            }
            assert not (can and not could and not exact["+"]), (role, request)
            assert not (could and not can and not exact["-"]), (role, request)
        for sign, names in reported.items():
            for name in names:
                request = "/".join("other" if part == "{}" else part for part in shape(name))
                could, can = passes(before, request, held), passes(after, request, held)
                assert (could, can) == (sign == "-", sign == "+"), (role, name)


def test_a_route_that_is_opened_to_everybody_is_gained_by_roles_and_visitors() -> None:
    before = Policy(SHIPPED.model_text, [*SHIPPED.base, Rule(ENDPOINT, "GET /a", "x:one")])
    after = Policy(SHIPPED.model_text, [*SHIPPED.base, Rule(ENDPOINT, "GET /a", "@anyone")])
    diff = access_diff(before, Standing(after, {"one": ("x:one",), "none": ()}, {("none",): 3, (): 2}))

    gains = [(gain.role_code, gain.users, gain.access) for gain in diff.by_role.gains]
    assert gains == [(None, 2, ("GET /a",)), ("none", 3, ("GET /a",))]
    assert not diff.by_role.loses
    (differing,) = diff.callers
    assert (differing.name, differing.loses) == ("GET /a", None)
    assert differing.gains is not None
    assert not differing.gains.logged_in


def test_what_no_role_of_today_notices_is_told_for_possible_callers() -> None:
    before = SHIPPED.policy(Lines(), {}, 1)
    other = tuple(
        rule._replace(code="system:user:list") if rule.object == "DELETE /api/user/{id}" else rule
        for rule in SHIPPED.endpoints
    )
    after = replace(SHIPPED, endpoints=other).policy(Lines(), {}, 1)

    diff, lines = access_diff(before, Standing(after, {"top": ("*",)}, {})), line_diff(before, after)

    assert not diff.by_role.gains
    assert not diff.by_role.loses
    (differing,) = diff.callers
    assert differing.gains is not None
    assert differing.loses is not None
    assert (differing.gains.codes, differing.loses.codes) == (("system:user:list",), ("system:user:delete",))
    assert lines.added == ("p, endpoint, DELETE /api/user/{id}, system:user:list",)
    assert lines.removed == ("p, endpoint, DELETE /api/user/{id}, system:user:delete",)
    assert not lines.model_changed


def test_comments_of_a_model_are_no_difference_and_rows_are() -> None:
    policy = Policy(SHIPPED.model_text, SHIPPED.base)
    commented = Policy(f"# reviewed\n{SHIPPED.model_text}", SHIPPED.base)
    doubled = SHIPPED.model_text.replace('p.code == "@anyone"', 'p.code == "@anyone" || p.code == "@anyone"')
    assert not line_diff(policy, commented).model_changed
    assert line_diff(policy, Policy(doubled, SHIPPED.base)).model_changed


def test_parts_of_an_answer_are_the_whole_of_it() -> None:
    dice = random.Random(4)
    before, after = random_policy(dice), random_policy(dice)
    standing = Standing(
        after, {"r0": ("x:one",), "r1": ("x:*",), "r2": ("*",)}, {("r0", "r1"): 2, ("r2",): 1}
    )
    whole = access_answer(before, standing)
    pages = [access_answer(before, standing, PartQuery(page=page, size=1)) for page in range(1, 9)]

    totals = whole.totals
    assert (totals.gains, totals.loses, totals.callers) == (
        len(whole.gains),
        len(whole.loses),
        len(whole.callers),
    )
    assert min(totals.gains + totals.loses, totals.callers) > 1
    assert all(page.totals == totals for page in pages)
    assert [request for page in pages for request in page.callers] == whole.callers
    for kind in ("gains", "loses"):
        entries, parts = getattr(whole, kind), [part for page in pages for part in getattr(page, kind)]
        assert [(entry.role_code, entry.users, entry.access[:1], len(entry.access)) for entry in entries] == [
            (part.role_code, part.users, part.access, part.total) for part in parts
        ]
