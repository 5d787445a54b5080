"""Statements about a policy: how they are read, and what breaks them."""

from pathlib import Path

import pytest

from service.authz.engine.policy import Policy
from service.authz.engine.rules import PolicyError, Rule
from service.kernel.coded_sentences import Sentence
from service.laboratory.invariants.checking import Holders, Situation, check, newly_broken
from service.laboratory.invariants.reading import read_invariants
from service.laboratory.invariants.statements import NONE, Apart, Invariants, OnlyRoles
from tests.laboratory.invariants.stated import SHIPPED, holders, policy_of, stated
from tests.support.cases import with_each

ONLY_SUPER = stated("only_roles: [super], reach: ['DELETE /api/user/{id}']")
DELETE = "system:user:delete"


def findings(invariants: Invariants, policy: Policy, given: Holders | None = None) -> list[str]:
    return [violation.finding for violation in check(invariants, policy, given).violations]


def new(invariants: Invariants, before: Situation, after: Situation) -> list[str]:
    return [violation.finding for violation in newly_broken(invariants, before, after)]


def test_a_role_that_reaches_what_only_others_may_is_named() -> None:
    roles = holders({"super": "*", "auditor": "system:user:list", "helper": "system:*:delete"})

    assert findings(ONLY_SUPER, policy_of(), roles) == ["the role helper can send DELETE /api/user/{id}"]


def test_two_roles_that_reach_it_only_together_are_named_together() -> None:
    policy = policy_of("resource, DELETE /api/user/{id}, a:b", f"resource, DELETE /api/user/7, {DELETE}")
    roles = holders({"super": "*", "one": "a:b", "two": DELETE, "three": "c:d"})

    assert findings(ONLY_SUPER, policy, roles) == [
        "the roles one and two can send DELETE /api/user/{id}",
        "the role two can send DELETE /api/user/7",
    ]


def test_a_request_that_needs_no_role_breaks_what_only_roles_may() -> None:
    invariants = stated("only_roles: [super], reach: [GET /api/user/info, POST /api/auth/login]")

    assert findings(invariants, policy_of(), holders({"super": "*"})) == [
        "everyone who is logged in can send GET /api/user/info",
        "everyone without a login can send POST /api/auth/login",
    ]


def test_every_possible_caller_is_asked_who_may_pass_without_a_code() -> None:
    invariants = stated("only_holders_of: ['system:role:list'], reach: [GET /api/role/list]")

    assert findings(invariants, policy_of()) == ["a holder of system:user:create can send GET /api/role/list"]
    assert findings(invariants, policy_of("resource, GET /api/role/list, system:role:list")) == []


def test_a_holder_of_a_wildcard_that_covers_the_code_holds_it() -> None:
    invariants = stated(
        f"only_holders_of: ['{DELETE}'], reach: ['DELETE /api/user/{{id}}', DELETE /api/user/7]"
    )

    assert findings(invariants, policy_of()) == []


def test_a_role_that_violates_the_separation_of_duties_is_found() -> None:
    invariants = stated(
        "no_role_holds: ['system:user:create', 'system:role:permission'], except_roles: [super]"
    )
    roles = holders({"super": "*", "clerk": "system:user:create", "chief": "system:user:* system:role:*"})

    assert findings(invariants, policy_of(), roles) == [
        "the role chief holds system:user:create and system:role:permission"
    ]


def test_a_user_who_holds_by_two_roles_what_is_kept_apart_is_found() -> None:
    invariants = stated(
        "no_user_holds: ['system:user:create', 'system:role:permission'], except_roles: [super]"
    )
    roles = {"super": "*", "one": "system:user:create", "two": "system:role:*"}
    users = {"ann": ("one",), "bea": ("one", "two"), "root": ("one", "super", "two")}

    assert findings(invariants, policy_of(), holders(roles, users)) == [
        "the user bea holds system:user:create and system:role:permission, by one, two"
    ]


def test_every_change_needs_a_code_except_the_listed_ones() -> None:
    own = [
        "DELETE /api/auth/sessions/{device}",
        "DELETE /api/user/profile/factors/{id}",
        "DELETE /api/user/profile/keys/{key_id}",
        "DELETE /api/user/profile/delegations/{delegation_id}",
        "DELETE /api/user/profile/origins/{source}",
        "DELETE /api/access-request/{id}",
    ]
    invariants = stated(f"code_needed_for: [DELETE], except_requests: {own}")
    (all_of_them,) = [stated("code_needed_for: [DELETE]")]

    assert findings(invariants, policy_of()) == []
    assert set(findings(all_of_them, policy_of())) == {
        f"everyone who is logged in can send {request}" for request in own
    }


@pytest.mark.parametrize(
    "statement",
    [
        "only_roles: [super], reach: [DELETE /api/usr/7]",
        "only_holders_of: ['*'], reach: [DELETE /api/usr/7]",
        "code_needed_for: [PATCH], except_requests: [DELETE /api/usr/7]",
    ],
)
def test_a_statement_about_a_request_that_no_route_serves_does_not_pass_in_silence(statement: str) -> None:
    messages = findings(stated(statement), policy_of(), holders({"super": "*"}))

    assert messages == ["no route serves DELETE /api/usr/7, so the statement has no effect"]


def test_a_request_for_one_value_is_looked_at_alone() -> None:
    invariants = stated("only_roles: [super], reach: [DELETE /api/user/7]")
    policy = policy_of("resource, DELETE /api/user/7, '*'".replace("'", ""))

    assert findings(invariants, policy, holders({"super": "*", "helper": DELETE})) == []
    assert findings(invariants, policy_of(), holders({"helper": DELETE})) == [
        "the role helper can send DELETE /api/user/7"
    ]


def test_without_roles_statements_about_them_are_reported_as_not_checked() -> None:
    invariants = stated("no_role_holds: [a, b]\nno_user_holds: [a, b]\ncode_needed_for: [PATCH]")

    report = check(invariants, policy_of())

    assert [statement.name for statement in report.unchecked] == ["s0", "s1"]
    assert report.violations == ()


def test_what_is_broken_already_does_not_count_as_new() -> None:
    roles = {"super": "*", "helper": DELETE}
    before = Situation(policy_of(), holders(roles))

    unrelated = policy_of("resource, GET /api/role/list, a:b", "resource, DELETE /api/user/7, @login")

    assert findings(ONLY_SUPER, unrelated, before.holders) != []
    assert new(ONLY_SUPER, before, Situation(unrelated, before.holders)) == []


def test_a_further_role_that_breaks_a_broken_statement_is_new() -> None:
    policy = policy_of()
    before = Situation(policy, holders({"super": "*", "helper": DELETE}))
    after = Situation(policy, holders({"super": "*", "helper": DELETE, "clerk": "system:user:*"}))

    assert new(ONLY_SUPER, before, after) == ["the role clerk can send DELETE /api/user/{id}"]
    assert new(ONLY_SUPER, after, before) == []


def test_further_callers_of_a_broken_statement_are_new_even_if_no_role_of_today_is_among_them() -> None:
    invariants = stated("only_holders_of: ['x:y'], reach: [GET /api/role/list]")
    narrow = policy_of("resource, GET /api/role/list, system:role:list")
    wide = policy_of("resource, GET /api/role/list, system:role:list", "resource, GET /api/role/list, a:b")

    assert new(invariants, Situation(narrow), Situation(wide)) == [
        "a holder of a:b and system:user:create can send GET /api/role/list"
    ]
    assert new(invariants, Situation(wide), Situation(narrow)) == []


def test_a_request_that_is_opened_together_with_a_new_code_is_found() -> None:
    invariants = stated("only_holders_of: ['x:y'], reach: [GET /api/role/list]")
    codes = ("grant, a:b, a:b", "permission, a:b, a:b")
    narrow = ("resource, GET /api/role/list, x:y",)
    wide = (*narrow, "resource, GET /api/role/list, a:b")

    assert new(invariants, Situation(policy_of(*narrow)), Situation(policy_of(*narrow, *codes))) == []
    assert new(invariants, Situation(policy_of(*narrow)), Situation(policy_of(*wide, *codes))) == [
        "a holder of a:b and system:role:list can send GET /api/role/list"
    ]


def test_a_role_that_breaks_a_statement_by_a_code_that_is_new_is_found() -> None:
    after = policy_of("grant, x:y, x:y", "permission, x:y, x:y")
    apart = stated("no_role_holds: ['x:y', 'a:b']")

    messages = new(
        apart, Situation(policy_of(), holders({"one": "a:b"})), Situation(after, holders({"one": "a:b x:y"}))
    )

    assert messages == ["the role one holds x:y and a:b"]


def test_a_user_who_breaks_a_statement_may_get_another_role() -> None:
    invariants = stated("no_user_holds: ['a:b', 'a:c']")
    roles = {"one": "a:b", "two": "a:c", "three": "d:e"}
    policy = policy_of()
    before = Situation(policy, holders(roles, {"bea": ("one", "two"), "cleo": ("one",)}))
    more = Situation(policy, holders(roles, {"bea": ("one", "three", "two"), "cleo": ("one",)}))
    swapped = Situation(policy, holders(roles, {"bea": ("one",), "cleo": ("one", "two")}))

    assert new(invariants, before, more) == []
    assert new(invariants, before, swapped) == ["the user cleo holds a:b and a:c, by one, two"]


def test_requests_are_told_apart_by_the_resources_of_both_policies() -> None:
    before = policy_of("resource, DELETE /api/user/7, x:y")
    roles = holders({"super": "*", "helper": DELETE})

    assert new(ONLY_SUPER, Situation(before, roles), Situation(policy_of(), roles)) == [
        "the role helper can send DELETE /api/user/7"
    ]


def test_a_model_decides_what_it_means_to_hold_a_code() -> None:
    model = SHIPPED.model_text.replace("    || holdsPattern(r.caller, p.code) \\\n", "")
    policy = Policy(model, [Rule("endpoint", "GET /a", "a:b")])

    assert findings(stated("no_role_holds: ['a:b', 'a:c']"), policy, holders({"x": "*:b a:c"})) == []


GOOD = """\
statements:
  - name: deletion
    reason: it can't be undone
    only_roles: [super]
    reach: ["DELETE /api/user/{id}"]
"""


def written(folder: Path, text: str, name: str = "stated.yaml") -> Path:
    path = folder / name
    path.write_text(text, "utf-8")
    return path


def test_a_statement_keeps_its_name_its_reason_and_its_line(tmp_path: Path) -> None:
    path = written(tmp_path, GOOD)

    (statement,) = read_invariants([path]).statements

    assert statement == OnlyRoles(
        name="deletion",
        reason=Sentence("it can't be undone"),
        place=f"{path}:2",
        roles=("super",),
        requests=("DELETE /api/user/{id}",),
    )


def test_lines_that_can_not_be_policy_lines_are_refused_by_file_and_line(tmp_path: Path) -> None:
    path = written(tmp_path, "lines:\n  - p, service, portcullis list, a:b\n  - p, servise, x, a:b\n")

    with pytest.raises(PolicyError, match=f"^{path}:3: the layer must be resource"):
        read_invariants([path])


def test_several_files_are_read_as_one(tmp_path: Path) -> None:
    other = "statements: [{name: apart, reason: x, no_user_holds: ['a:b', 'a:c'], except_roles: [super]}]\n"

    invariants = read_invariants([written(tmp_path, GOOD), written(tmp_path, other, "other.yaml")])

    assert [type(statement) for statement in invariants.statements] == [OnlyRoles, Apart]
    assert (invariants.about_roles, invariants.about_users) == (True, True)
    assert read_invariants([]) == NONE
    assert (NONE.about_roles, NONE.about_users) == (False, False)


@with_each(
    ("wrong", "right", "line", "reason"),
    [
        ("name: deletion", "name: Deletion!", 2, "a name must be words"),
        ("reason: it can't be undone", "reason: ' '", 3, "the reason is missing"),
        ("    reason: it can't be undone\n", "", 2, "reason: The field is required"),
        ("only_roles: [super]", "only_rolls: [super]", 4, "only_rolls: There is no such field"),
        ("only_roles: [super]", "only_roles: []", 4, "names at least one"),
        ("only_roles: [super]", "only_roles: super", 4, "only_roles: must be a list or null"),
        ("    only_roles: [super]\n", "", 2, "exactly one of only_roles, only_holders_of"),
        ("only_roles: [super]", "only_roles: [super]\n    no_role_holds: [a, b]", 2, "exactly one of"),
        ("only_roles: [super]", "no_role_holds: [a]", 4, "two or more codes"),
        ("only_roles: [super]", "no_role_holds: [a, b]", 5, "reach does not belong to no_role_holds"),
        ("only_roles: [super]", "no_role_holds: [a, 'a:*']", 4, "has a wildcard"),
        ("only_roles: [super]", "only_holders_of: [A]", 4, "'A' is not a permission code"),
        ("only_roles: [super]", "code_needed_for: [READ]", 4, "must be one of GET, POST"),
        ('["DELETE /api/user/{id}"]', "[DELETE api]", 5, "a path starts with '/'"),
        ('["DELETE /api/user/{id}"]', "[]", 5, "needs reach"),
        ("statements:", "codes: '['\nstatements:", 1, "not a regular expression"),
        ("statements:", "'@anyone': {resource: []}\nstatements:", 1, "endpoint: The field is required"),
    ],
)
def test_a_fault_is_named_with_file_and_line(
    tmp_path: Path, wrong: str, right: str, line: int, reason: str
) -> None:
    assert wrong in GOOD
    path = written(tmp_path, GOOD.replace(wrong, right))

    with pytest.raises(PolicyError) as refused:
        read_invariants([path])

    assert f"{path}:{line}: " in str(refused.value)
    assert reason in str(refused.value)


def test_a_name_is_given_once_in_all_files(tmp_path: Path) -> None:
    first, two = written(tmp_path, GOOD), written(tmp_path, GOOD, "two.yaml")

    with pytest.raises(PolicyError, match=f"{two}:2: the name deletion is already used in {first}:2"):
        read_invariants([first, two])


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="can't be read"):
        read_invariants([tmp_path / "none.yaml"])
