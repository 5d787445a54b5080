"""Who passes what, as told for all roles and requests, is what single decisions say."""

import csv
import random
import re
from collections import Counter
from collections.abc import Collection
from dataclasses import replace
from functools import lru_cache
from itertools import combinations
from typing import Any

import pytest

from service.authz.engine.policy import Policy
from service.authz.engine.resource_index import ResourceIndex
from service.authz.engine.rules import ENDPOINT, GRANT, RESOURCE, Rule
from service.authz.publishing.derive import derive
from service.authz.publishing.shipped import Shipped
from service.errors import BadRequest, ValidationFailed
from service.features.explain.access import open_requests, what, who, who_may
from service.features.explain.api_what_if import WhatIfQuery, what_if_answer
from service.features.explain.api_who_may import openings_answer
from service.features.explain.matrix import Matrix, as_csv, as_document
from service.features.explain.what_if import if_role_gave, if_user_had, with_resource
from service.kernel.assurance import words_of
from service.kernel.codes import HeldCodes
from service.kernel.request_objects import PublishedRule, Stage
from service.kernel.services import BoundResource, Service, split_object
from service.laboratory.analysis.explain import Explanation, explain
from service.laboratory.analysis.impact import Standing, differences
from service.laboratory.analysis.request_paths import request_path
from service.laboratory.reporting.html_page import as_html
from service.web.messages.schema import PageQuery
from tests.support.cases import with_each
from tests.support.unstarted import SHIPPED

CODES = ("system:user:list", "system:user:delete", "system:role:list", "x:one", "x:two")
HELD = (*CODES, "*", "system:*", "system:*:list", "x:*")
RESOURCES = (
    "GET /api/user/{id}",
    "GET /api/user/7",
    "DELETE /api/user/{id}",
    "GET /api/{area}/list",
    "GET /api/role/list",
    "POST /api/auth/logout",
    "GET /api/nowhere",
)


def requests(policy: Policy) -> list[tuple[str, str]]:
    """Return some real requests to each route."""
    pairs = set()
    for name in policy.rules.objects(ENDPOINT):
        method, _, template = name.partition(" ")
        for value in ("7", "8", "list"):
            parts = [value if part.startswith("{") else part for part in template.split("/")]
            pairs.add((method, "/".join(parts)))
    return sorted(pairs)


routes_of = lru_cache(8)(ResourceIndex)


def decided(policy: Policy, method: str, path: str, held: HeldCodes | None) -> bool:
    """Decide one request as the guard does: a route open to everybody authenticates nobody."""
    route = routes_of(tuple(policy.rules.objects(ENDPOINT))).find(method, path)
    assert route is not None
    public = policy.rules.codes(ENDPOINT, route) == ("@anyone",)
    asking = None if public else held
    resource = "@no-session" if asking is None else policy.resource_at(method, path) or "@unregistered"
    return all(
        policy.judge(layer, name, asking).allowed for layer, name in ((RESOURCE, resource), (ENDPOINT, route))
    )


def random_standing(dice: random.Random) -> Standing:
    shipped = Shipped(
        SHIPPED.model_text,
        tuple(rule for rule in SHIPPED.base if rule.object != "@unregistered" or dice.random() < 0.7),
        SHIPPED.endpoints,
    )
    registered = []
    for name in dice.sample(RESOURCES, dice.randint(0, len(RESOURCES))):
        method, _, path = name.partition(" ")
        buttons = [(code, dice.random() < 0.8) for code in dice.sample(CODES, dice.randint(0, 2))]
        registered.append(BoundResource(method, path, buttons))
    policy = shipped.policy(derive(registered, dice.sample(CODES, 3)), {}, 5)
    roles = {f"r{number}": tuple(dice.sample(HELD, dice.randint(0, 2))) for number in range(5)}
    users = {
        having: dice.randint(1, 4)
        for size in range(4)
        for having in combinations(sorted(roles), size)
        if dice.random() < 0.3
    }
    return Standing(policy, roles, users)


@with_each("seed", range(6))
def test_who_passes_a_request_is_what_is_decided_for_each_role_and_user(seed: int) -> None:
    dice = random.Random(seed)
    standing = random_standing(dice)
    for method, path in dice.sample(requests(standing.policy), 25):

        def passes(*roles: str, at: tuple[str, str] = (method, path)) -> bool:
            return decided(standing.policy, *at, standing.held(roles))

        answer = who(standing, method, request_path(path))

        roles = [role for role in standing.codes if passes(role)]
        assert [passing_role.role_code for passing_role in answer.roles] == roles
        passing = {having: number for having, number in standing.users.items() if passes(*having)}
        assert answer.users == sum(passing.values())
        assert set(answer.role_sets) == passing.keys()
        assert {group.roles for group in answer.together} == {
            having for having in passing if len(having) > 1 and not {*having} & {*roles}
        }
        assert answer.visitors == decided(standing.policy, method, path, None)
        assert answer.any_login == passes()
        for passing_role in answer.roles:
            assert passing_role.users == sum(
                number for having, number in standing.users.items() if passing_role.role_code in having
            )
            for layer in filter(None, (passing_role.resource, passing_role.endpoint)):
                judged = standing.policy.judge(
                    layer.layer,
                    layer.object,
                    None if answer.asked.public else standing.held([passing_role.role_code]),
                )
                assert layer.line == str(judged.line)


@with_each("seed", range(6))
def test_what_somebody_passes_is_what_is_decided_for_each_request_and_code(seed: int) -> None:
    dice = random.Random(seed)
    policy = random_standing(dice).policy
    routes = ResourceIndex(policy.rules.objects(ENDPOINT))
    for codes in (None, *(dice.sample(HELD, dice.randint(0, 2)) for _ in range(4))):
        held = None if codes is None else HeldCodes(codes)
        accesses = what(policy, held)
        reported = {
            (access.object.partition(" ")[0], access.example.path)
            for access in accesses
            if access.example is not None
        }
        index = {(access.object): access for access in accesses}
        assert len(index) == len(accesses)
        for method, path in reported:
            assert decided(policy, method, path, held)
        for method, path in requests(policy):
            route = routes.find(method, path)
            resource = policy.resource_at(method, path)
            listed = any(
                access.example is not None
                and access.example.route == route
                and policy.resource_at(method, access.example.path) == resource
                for access in accesses
            )
            assert listed == decided(policy, method, path, held), (method, path, codes)
        grants = [code for code in policy.rules.objects(GRANT) if policy.judge(GRANT, code, held).allowed]
        assert [access.object for access in accesses if access.kind == "grant"] == grants


@with_each("seed", range(3))
def test_an_explanation_says_what_is_decided_and_a_denial_what_would_open_it(seed: int) -> None:
    dice = random.Random(seed)
    policy = random_standing(dice).policy
    for method, path in dice.sample(requests(policy), 60):
        held = dice.choice([None, HeldCodes(dice.sample(HELD, dice.randint(0, 3)))])
        explanation = explain(policy, method, path, held)
        assert explanation.permitted == decided(policy, method, path, held)
        for layer in explanation.layers:
            judged = policy.judge(layer.layer, layer.object, None if explanation.public else held)
            assert (layer.allowed, layer.decision_id) == (judged.allowed, judged.id)
            assert bool(layer.rows) == layer.allowed
            if held is not None and not layer.allowed:
                for code in layer.required:
                    assert policy.judge(layer.layer, layer.object, HeldCodes([*held.codes, code])).allowed


@with_each("seed", range(3))
def test_the_matrix_of_roles_is_what_is_decided_for_each_role_and_request(seed: int) -> None:
    standing = random_standing(random.Random(seed))
    matrix = Matrix(standing)
    rows = matrix.rows()
    table = list(csv.reader(as_csv(matrix, "one")))[1:]

    assert table[0] == ["request", "authentication", *sorted(standing.codes)]
    for request_class, row, cells in zip(matrix.requests, rows, table[1:], strict=True):
        method = request_class.name.partition(" ")[0]
        passing = [
            role
            for role in sorted(standing.codes)
            if decided(standing.policy, method, request_class.path, standing.held([role]))
        ]
        assert [cell.role_code for cell in row.roles] == passing
        assert [role for role, cell in zip(table[0][2:], cells[2:], strict=True) if cell] == passing
        assert row.visitors == decided(standing.policy, method, request_class.path, None)
        assert row.any_login == decided(standing.policy, method, request_class.path, HeldCodes())
        for cell in row.roles:
            assert {*cell.by} <= {*standing.codes[cell.role_code]}
            assert decided(standing.policy, method, request_class.path, HeldCodes(cell.by))


def test_a_matrix_of_some_roles_has_their_part_of_the_matrix_of_all() -> None:
    standing = random_standing(random.Random(1))
    some = Matrix(standing, ["r3", "r0", "unknown"])

    assert some.roles == ["r0", "r3"]
    for partial_row, row in zip(some.rows(), Matrix(standing).rows(), strict=True):
        cells = tuple(cell for cell in row.roles if cell.role_code in some.roles)
        assert partial_row == replace(row, roles=cells)


def test_matrix_and_openings_tell_what_is_demanded_beside_the_codes() -> None:
    demand = words_of("two-factors", services=False)
    policy = SHIPPED.policy(derive([BoundResource("GET", "/api/menu/mine", (), demand=demand)]), {}, 12)
    rows = list(csv.reader(as_csv(Matrix(Standing(policy, {}, {})), "one")))[1:]
    table = {row[0]: row[1] for row in rows}
    opened = openings_answer(policy, PageQuery(page=1, size=1000)).items

    assert table["GET /api/menu/mine"] == "@two-factors"
    assert (table["GET /api/menu/list"], table["POST /api/auth/login"]) == ("@login @service", "")
    assert {each.object: " ".join(each.assurance) for each in opened} == {
        each.object: table[each.object] or "@anyone" for each in opened
    }


def test_the_page_of_the_matrix_loads_nothing_and_shows_texts_as_texts() -> None:
    policy = SHIPPED.policy(derive([], ["*"]), {}, 12)
    page = "".join(as_html(as_document(Matrix(Standing(policy, {"<b>&": ("*",)}, {})), "<i>one")))
    assert '<th scope="col">&lt;b&gt;&amp;</th>' in page
    assert "Source: &lt;i&gt;one." in page

    def row(request: str, words: str, tone: str, cell: str) -> str:
        header = f'<tr><th scope="row"><code>{request}</code></th>'
        return f'{header}<td>{words}</td><td class="{tone}">{cell}</td></tr>'

    assert row("GET /api/user/{id}", "@login @service", "good", "*") in page
    assert row("GET /api/user/info", "@initial @service", "attention", "login") in page
    assert row("POST /api/auth/login", "", "attention", "anyone") in page
    assert "Policy revision 12" in page
    assert not re.search("(?i)src=|https?:|<script|url[(]|@import", page)


def test_requests_that_need_no_role_are_those_that_visitors_or_bare_logins_pass() -> None:
    policy = SHIPPED.policy(derive([BoundResource("GET", "/api/user/info", [("x:one", True)])]), {}, 1)
    requirements = {access.object: needs for access, needs in open_requests(policy)}
    assert requirements["POST /api/auth/login"] == "nothing"
    assert requirements["POST /api/auth/logout"] == "login"
    assert "GET /api/user/info" not in requirements
    assert "GET /api/user/list" not in requirements


@with_each(("word", "needs"), [("@anyone", "nothing"), ("@login", "login")])
@with_each("services", [[], [Service("billing")]])
def test_what_a_file_opens_of_a_service_is_an_opening_before_the_service_is_registered(
    word: str, needs: str, services: list[Service]
) -> None:
    opened = replace(SHIPPED, base=(*SHIPPED.base, Rule("resource", "billing @unregistered", word)))
    policy = opened.policy(derive([], services=services), {}, 1)

    answer = openings_answer(policy, PageQuery(page=1, size=1000)).items[-1]

    assert (answer.object, answer.needs) == ("billing @unregistered", needs)
    assert answer.resource is not None
    assert answer.resource.line == f"p, resource, billing @unregistered, {word}"


def test_a_template_stands_for_any_other_value_and_the_rest_is_named() -> None:
    seven = BoundResource("DELETE", "/api/user/7", [("x:one", True)])
    policy = SHIPPED.policy(derive([seven]), {}, 1)
    standing = Standing(policy, {"top": ("*",)}, Counter({("top",): 1}))

    any_other = who(standing, "DELETE", request_path("/api/user/{id}"))
    seventh = who(standing, "DELETE", request_path("/api/user/7"))

    assert isinstance(any_other.asked, Explanation)
    assert isinstance(seventh.asked, Explanation)
    assert (any_other.asked.resource.object, any_other.others) == ("@unregistered", ("DELETE /api/user/7",))
    assert (seventh.asked.resource.object, seventh.others) == (
        "DELETE /api/user/7",
        ("DELETE /api/user/{id}",),
    )
    with pytest.raises(BadRequest):
        request_path("/api//user")
    assert not who(standing, "PUT", "/no/route").roles


OTHERS = [Service("billing")]


@with_each(
    ("name", "bound", "without", "with_"),
    [
        ("GET /api/user/list", ["x:one"], ["x:one"], ["x:two"]),
        ("GET /api/user/list", ["x:one"], ["x:one"], []),  # then every login passes this layer
        ("GET /api/user/list", None, [], ["x:two"]),  # not registered yet
        ("billing GET /bills", ["x:one", "x:two"], ["x:two"], []),
        ("billing GET /bills", ["x:one"], ["x:one"], []),  # then nobody passes
    ],
)
def test_other_codes_of_a_resource_change_what_its_registration_with_them_changes(
    name: str, bound: list[str] | None, without: list[str], with_: list[str]
) -> None:
    codes = {"one": ("x:one", "system:user:list"), "two": ("x:two", "system:user:list"), "none": ()}
    users = Counter({("one",): 2, ("one", "two"): 1, ("none",): 1})

    def standing(given: Collection[str] | None) -> Standing:
        service, request = split_object(name)
        method, _, path = request.partition(" ")
        made = (
            [] if given is None else [BoundResource(method, path, [(code, True) for code in given], service)]
        )
        return Standing(SHIPPED.policy(derive(made, services=OTHERS), {}, 1), codes, users)

    before, after = standing(bound), standing(sorted({*(bound or ()), *with_} - {*without}))

    opened = with_resource(before.policy, name, without, with_)
    asked = differences(before, Standing(opened, before.codes, before.users))

    expected = differences(before, after)
    assert (asked.gains, asked.loses) == (expected.gains, expected.loses)
    assert expected.gains or expected.loses


def test_another_demand_of_a_resource_is_told_by_the_words_before_and_after() -> None:
    made = [BoundResource("GET", "/api/user/{id}", [("x:one", True)])]
    standing = Standing(SHIPPED.policy(derive(made), {}, 1), {"one": ("*",)}, Counter({("one",): 1}))

    def asked(**query: Any) -> tuple[Any, ...]:
        answer = what_if_answer(standing, (), WhatIfQuery(resource="GET /api/user/{id}", **query))
        changes = {change.object: (change.before, change.after) for change in answer.demands}
        return answer.gains, answer.loses, changes

    name, literal = "GET /api/user/{id}", "GET /api/user/info"  # the resource takes requests to both
    login, initial = ["@login", "@service"], ["@initial", "@service"]
    gains, loses, changes = asked(assurance="two-factors")
    assert (gains, loses) == ([], [])
    assert (changes[name], changes[literal]) == ((login, ["@two-factors"]), (initial, ["@two-factors"]))
    changes = asked(assurance="login-within-15m", services=True)[2]
    assert changes[name] == (login, ["@login-within-15m", "@service"])
    assert asked(assurance="none")[2] == asked(with_="x:two")[2] == {}
    for wrong in ({"services": True}, {"assurance": "none", "services": True}):
        with pytest.raises(ValidationFailed):
            WhatIfQuery(resource=name, **wrong)
    with pytest.raises(ValidationFailed):
        WhatIfQuery(role_code="one", with_="a:b", assurance="login")
    with pytest.raises(ValidationFailed):
        asked()


def test_a_resource_with_the_requests_of_another_is_refused() -> None:
    standing = Standing(SHIPPED.policy(derive([BoundResource("GET", "/api/x/{id}", [])]), {}, 1), {}, {})
    with pytest.raises(ValidationFailed) as refused:
        with_resource(standing.policy, "GET /api/x/{name}", with_=["x:one"])
    assert refused.value.extra["errors"][0]["field"] == "resource"


def test_a_user_with_another_role_gains_what_single_decisions_say() -> None:
    standing = random_standing(random.Random(5))
    for had, given in ((("r0", "r1"), "r2"), ((), "r3")):
        asked = if_user_had(standing, had, with_=[given])
        gained = {name for difference in asked.gains for name in difference.access}
        assert {difference.users for difference in asked.gains} <= {1}
        assert not asked.loses
        for method, path in requests(standing.policy):
            if not path.endswith("/8"):  # a name that no resource has, as templates stand for
                continue
            could, can = (
                decided(standing.policy, method, path, standing.held(roles)) for roles in (had, (*had, given))
            )
            route = ResourceIndex(standing.policy.rules.objects(ENDPOINT)).find(method, path)
            assert (route in gained) == (can and not could)


def test_a_role_that_gives_other_codes_changes_what_single_decisions_change() -> None:
    dice = random.Random(3)
    for _ in range(4):
        standing = random_standing(dice)
        role = next(code for code, given in standing.codes.items() if given)
        gone, come = standing.codes[role][0], "system:role:list"
        codes = ({*standing.codes[role]} - {gone}) | {come}
        after = Standing(standing.policy, {**standing.codes, role: tuple(codes - {gone})}, standing.users)

        changed = if_role_gave(standing, role, [gone], [come])

        loses = {(difference.role_code, name) for difference in changed.loses for name in difference.access}
        gains = {(difference.role_code, name) for difference in changed.gains for name in difference.access}
        for method, path in requests(standing.policy):
            if not path.endswith("/8"):  # a name that no resource has, as templates stand for
                continue
            could, can = (
                decided(standing.policy, method, path, each.held([role])) for each in (standing, after)
            )
            route = ResourceIndex(standing.policy.rules.objects(ENDPOINT)).find(method, path)
            assert ((role, route) in loses) == (could and not can)
            assert ((role, route) in gains) == (can and not could)


@pytest.mark.parametrize(
    ("role", "without", "field"),
    [("none", ["x:one"], "roleCode"), ("r", ["x:two"], "without"), ("r", [], "without")],
)
def test_a_question_that_changes_nothing_is_refused(role: str, without: list[str], field: str) -> None:
    standing = Standing(SHIPPED.policy(derive([]), {}, 1), {"r": ("x:one",)}, {})
    with pytest.raises(ValidationFailed) as refused:
        if_role_gave(standing, role, without)
    assert refused.value.extra["errors"][0]["field"] == field


def test_who_approves_requests_for_a_role_are_the_roles_whose_codes_open_the_stage() -> None:
    rule = PublishedRule("auditor", "@login", [Stage("audit:approve", 2)], ("@two-factors",))
    policy = SHIPPED.policy(derive([], requestable=[rule]), {}, 1)
    standing = Standing(
        policy,
        {"top": ("*",), "approver": ("audit:*",), "plain": ("a:b",)},
        Counter({("top",): 1, ("approver",): 2, ("plain",): 3}),
    )

    approves = who_may(standing, "approve", "role auditor stage 1 for others")
    own = who_may(standing, "approve", "role auditor stage 1 for self")
    asks = who_may(standing, "request", "role auditor")

    assert [(role.role_code, role.users) for role in approves.roles] == [("approver", 2), ("top", 1)]
    assert (approves.users, approves.visitors, approves.any_login) == (3, False, False)
    assert (own.users, list(own.roles), own.any_login) == (0, [], False)
    assert (asks.users, asks.any_login, asks.assurance) == (6, True, ("@two-factors",))


def test_who_gains_and_loses_by_a_rule_of_requests_is_told_by_role() -> None:
    def standing(by: str, code: str) -> Standing:
        rule = PublishedRule("auditor", by, [Stage(code, 2)], ("@login",))
        roles = {"one": ("a:one",), "two": ("a:two",)}
        users: Counter[tuple[str, ...]] = Counter({("one",): 3, ("two",): 1})
        return Standing(SHIPPED.policy(derive([], requestable=[rule]), {}, 1), roles, users)

    changed = differences(standing("a:one", "a:two"), standing("a:two", "a:two"))

    assert [(each.role_code, each.users, each.access) for each in changed.gains] == [
        ("two", 1, ("request role auditor",))
    ]
    assert [(each.role_code, each.users, each.access) for each in changed.loses] == [
        ("one", 3, ("request role auditor",))
    ]


def test_the_matrix_says_who_may_ask_for_a_role_and_who_approves() -> None:
    rule = PublishedRule("auditor", "@login", [Stage("a:one", 2)], ("@two-factors",))
    policy = SHIPPED.policy(derive([], requestable=[rule]), {}, 1)
    rows = {
        row.object: row for row in Matrix(Standing(policy, {"one": ("a:*",), "two": ()}, Counter())).rows()
    }

    asks = rows["request role auditor"]
    approves = rows["approve role auditor stage 1 for others"]
    takes = rows["approve role auditor stage 1 takes 2"]

    assert (asks.any_login, asks.visitors, asks.assurance) == (True, False, ("@two-factors",))
    assert [(cell.role_code, cell.by) for cell in approves.roles] == [("one", ("a:*",))]
    assert (takes.roles, takes.any_login) == ((), False)
