"""Every act on a user goes through the delegation check: the code leaves no other way."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache

import pytest

from service.kernel.account_acts import ACTS as ACTS_ON_ACCOUNTS
from tests.support.running import ROOT

SERVICE = ROOT / "service"
ACTS = {"ban", "unban", "close_session", "close_sessions", "mark"}
HANDED_OUT = "features/directories/directory"  # the roles that directories give
"""What the session store does to users by their id."""


@pytest.fixture(scope="module", autouse=True)
def _forget_nodes() -> Iterator[None]:
    """The trees of the modules are large: later tests would carry them along."""
    yield
    nodes_of.cache_clear()


@cache
def texts() -> dict[str, str]:
    """Return the text of every module of the service."""
    return {
        str(path.relative_to(SERVICE).with_suffix("")): path.read_text() for path in SERVICE.rglob("*.py")
    }


@cache
def nodes_of(module: str) -> list[ast.AST]:
    """Return all nodes of the tree of a module."""
    return list(ast.walk(ast.parse(texts()[module])))


def having(names: Iterable[str]) -> Iterator[tuple[str, list[ast.AST]]]:
    """Return the modules whose text has all words of one of ``names``, each with its nodes."""
    words = [name.split(".") for name in names]
    for module, text in texts().items():
        if any(all(word in text for word in each) for each in words):
            yield module, nodes_of(module)


def called(*names: str) -> dict[str, set[str]]:
    """Return the modules that call each function, or method with the name of what it is called on."""
    callers: dict[str, set[str]] = {name: set() for name in names}
    for module, inside in having(names):
        for node in inside:
            if isinstance(node, ast.Call) and (name := name_of(node.func)) in callers:
                callers[name].add(module)
    return callers


def name_of(called: ast.AST) -> str:
    """Return the name of a function, or of a method with the name of what it is called on."""
    if isinstance(called, ast.Attribute):
        owner = name_of(called.value).rpartition(".")[2]
        return f"{owner}.{called.attr}"
    return called.id if isinstance(called, ast.Name) else ""


def test_only_the_delegation_check_says_on_whom_a_caller_may_act() -> None:
    assert called("Target", "oneself", "owner") == {
        "Target": {"administration/delegation", "kernel/identity"},
        "oneself": {
            "administration/delegation",  # the demand on users with a second factor
            "administration/own_credentials",
            "features/account_links/addresses",
            "features/agents/approvals",
            "features/agents/delegations",
            "features/directories/origins",
            "features/personal_keys/keys",
            "features/oidc/sign_in",  # what is demanded of who links an account
            "features/second_factors/own_factors",
        },
        "owner": {
            "features/account_links/addresses",
            "features/account_links/forgotten_passwords",
            "features/account_links/invitations",
            "features/account_links/session_ending",
        },
    }


def test_only_the_delegation_check_and_the_operator_say_which_accounts_are_created() -> None:
    assert called("NewAccount")["NewAccount"] == {
        "administration/delegation",
        "features/command_line/commands_admin_create",
    }
    tree = ast.parse((SERVICE / "records/accounts.py").read_text())
    takes = {
        node.name: [
            ast.unparse(argument.annotation)
            for argument in ast.walk(node)
            if isinstance(argument, ast.arg) and argument.annotation
        ]
        for node in ast.walk(tree)
        if isinstance(node, ast.AsyncFunctionDef) and node.name in {"create", "create_all"}
    }
    assert "NewAccount" in takes["create"]
    assert takes["create_all"][1:] == ["Iterable[NewRow]"]  # a row has a NewAccount
    assert [module for module, _ in having(["sert(user)"])] == ["records/accounts"]


def test_each_act_on_an_account_is_asked_by_its_name() -> None:
    """A type checker holds the names to the list; here each of them is really asked somewhere."""
    asked = {
        node.value
        for module, inside in having(["check.target", "require_act", "require_session", "_touching"])
        for call in inside
        if isinstance(call, ast.Call | ast.Assign | ast.AnnAssign | ast.Dict)
        for node in ast.walk(call)
        if isinstance(node, ast.Constant) and node.value in ACTS_ON_ACCOUNTS
    }
    assert asked | {"create"} == set(ACTS_ON_ACCOUNTS)


def test_only_the_delegation_check_compares_the_codes_of_callers_and_users() -> None:
    asking = {
        (name, module)
        for module, inside in having(["reach_of_"])
        for node in inside
        if isinstance(node, ast.Call)
        if (name := name_of(node.func)).rpartition(".")[2].startswith("reach_of_")
    }
    assert asking == {
        ("role_rights.reach_of_users", "administration/delegation"),
        ("role_rights.reach_of_roles", "administration/delegation"),
        # What approvers of a request need: whom its author makes able to does not count. It opens nothing.
        ("role_rights.reach_of_roles", "features/access_requests/appointing"),
        # To whom it is told that a request waits: what they decide is asked of the delegation check.
        ("role_rights.reach_of_roles", "features/access_requests/counting"),
        # What a role gave when it was asked for, and gives now: it is shown to those who decide.
        ("role_rights.reach_of_roles", "features/access_requests/effects"),
        # Which decisions are offered: the enforcer is asked about each code, and again at the decision.
        ("role_rights.reach_of_roles", "features/access_requests/deciders"),
        # Who is named as an approver: the enforcer is asked about each code, and again at the decision.
        ("role_rights.reach_of_roles", "features/access_requests/requests"),
        # What the author of a rule must be able to grant: the enforcer is asked about each code.
        ("role_rights.reach_of_roles", "administration/suspended_rules"),
    }


COMPARING = {
    *("holds_exactly", "holds_everything", "holds_subtree", "holds_pattern", "segments_of"),
    *("PREDICATES", "subtrees"),
}
"""The names by which held codes are compared with others."""


def test_nothing_outside_the_engine_compares_held_codes() -> None:
    comparisons: dict[str, set[str]] = defaultdict(set)
    for module, inside in having([*COMPARING, "held"]):
        for node in inside:
            name = getattr(node, "attr", None) or getattr(node, "id", None) or getattr(node, "name", None)
            if name in COMPARING:
                comparisons[module].add(str(name))
            if isinstance(node, ast.Compare) and any(
                name_of(part).startswith("held.") for part in ast.walk(node)
            ):
                comparisons[module].add(ast.unparse(node))

    # Whether the caller of a bulk edit has lost any code meanwhile: it undoes the edit, and opens nothing.
    comparisons["administration/delegation"].remove("check.stored.codes <= set(held.permissions)")
    outside = [module for module, comparing in comparisons.items() if comparing]
    assert {module for module in outside if not module.startswith(("authz/", "laboratory/"))} == {
        "kernel/codes",
        "features/follower/followed_policy",  # finds the codes that can matter, and asks the enforcer
    }


def test_the_layer_of_accounts_is_asked_at_named_places_only() -> None:
    asking = {
        module
        for module, _ in having(["ACCOUNT"])
        if re.search(r"engine\.rules import|engine import .*\brules\b", texts()[module])
    }
    assert {module for module in asking if not module.startswith("authz/")} == {
        "administration/delegation",
        "features/access_requests/api_requests",  # whether somebody sees the requests of all
        "features/access_requests/requests",  # which decisions are offered
        "features/decisions/api_evaluation",  # whether a service account may ask as a proxy
        "features/decisions/api_forward",
        "features/follower/hub",  # whether a service account may follow
        "features/follower/protocol",  # names the lines that are sent
        "features/follower/proxied",  # whether the account that follows may ask as a proxy
        "features/follower/server",  # what it is told
        "features/reviews/api_reviews",  # which reviews somebody sees
        "features/services/api_oauth",
        "features/services/oauth",  # whether the key of a person is reported as active
        "features/decisions/questions",
        "laboratory/analysis/answers",  # the services of a delegation to an agent
        "laboratory/analysis/comparison",  # names the layer
        "laboratory/analysis/sources",  # names the layer
        "laboratory/invariants/statements",  # names the layer
        "laboratory/proof/within",  # proves what keys and agents may not do
        "laboratory/prove",  # names the layer
        "laboratory/prove_within",  # names the acts that the policy opens to a kind of callers
        "features/explain/explained",  # explains the use of a person's API key
        "features/explain/refusals",  # explains them
        "features/personal_keys/keys",  # whether the caller's roles allow API keys
        "web/requests/guard",  # acts that are closed to API keys of people
        "features/policy_tests/commands_prove",  # names the layer
        "features/policy_tests/report_sections",  # names the layer
    }


def test_grants_are_asked_of_the_policy_at_named_places_only() -> None:
    asked = {
        module
        for module, inside in having(["judge.GRANT", "decide.GRANT"])
        for node in inside
        if isinstance(node, ast.Call)
        and name_of(node.func).rpartition(".")[2] in {"judge", "decide"}
        and node.args
        and name_of(node.args[0]) == "GRANT"
    }
    assert asked == {
        "administration/delegation",
        "administration/lasting",  # tells when what is missing ends, and opens nothing
        "features/explain/dry_runs",  # tells what a change would do, and opens nothing
        "endpoints/menus",  # shows what is held, and opens nothing
        "laboratory/findings/request_findings",  # tells who could approve, and opens nothing
        "authz/publishing/derive",  # tells which roles gain what a new version brings
        "features/decision_log/asked_again",  # asks another policy what was decided before, and opens nothing
        "features/permission_use/notes",  # notes which code was needed, and opens nothing
    }


def test_every_denial_carries_a_decision_of_the_enforcer() -> None:
    assert set.union(*called("PermissionDenied", "errors.PermissionDenied").values()) == {
        "features/access_requests/requests",  # about asking, and about each stage
        "features/access_requests/self_approval",  # about the caller's own requests
        "features/agents/approvals",  # passes on the denial of the guard
        "features/reviews/reviews",  # about assignments of others, and closing
        "administration/delegation",
        "features/takeovers/owners",  # about confirming owners
        "features/reviews/api_sign_offs",  # about changes of others
        "errors",  # of the layer assurance, where no step-up helps
        "features/follower/hub",  # about the account that follows
        "features/follower/proxied",  # passes on the denial of a call that needs an approval
        "features/decisions/forwarding",  # tells a proxy what the enforcer decided about another one
        "features/services/api_oauth",
        "features/explain/api_explain",  # asks for the right to what the id of a refusal finds
        "endpoints/record_endpoints",
        "endpoints/roles",  # about a filter that needs the right to list users
        "web/requests/guard",
    }


def test_what_acts_on_users_by_their_bare_id_is_called_below_that_check_alone() -> None:
    stores = {f"{owner}.{act}" for owner in ("_store", "store") for act in ACTS}
    writes = {
        "accounts.update": {"user_edits", "features/assignments/edits", "features/access_requests/requests"},
        "accounts.delete": {"user_edits"},
        "assignments.give": {"user_edits", "features/assignments/edits", "features/access_requests/requests"},
        "assignments.change": {HANDED_OUT, "features/assignments/edits"},
        "assignments.revoke": {HANDED_OUT, "features/assignments/edits"},
        "assignments.revoke_roles": {"user_edits"},
    }
    others = (
        *("bans.ban", "bans.unban", "accounts.change_password", "accounts.set_status"),
        "factors.remove_all",
    )
    calls = called(*stores, *writes, *others)
    callers = {module for name in stores for module in calls[name]}
    assert callers <= {
        "authn/sessions",  # of a Target, or the caller's own
        "features/directories/sessions",  # that a sign-in has opened which has ended
        "authn/revocations",  # of a Target; marks, after a change of rights, the affected users
        "authn/password_change",  # of a Target
        "authn/denials",  # repeats what the database says
        "authn/refresh",  # of the sender of a refresh token
        "authn/opening",  # of who logs in: a session whose sign-in with a provider has ended meanwhile
        "features/command_line/recovery",  # the operator's, past the API
    }
    assert calls["bans.ban"] == {"administration/bans"}
    assert calls["bans.unban"] == {"administration/bans", "features/command_line/recovery"}
    assert calls["accounts.change_password"] == {"authn/password_change", "features/command_line/recovery"}
    assert calls["factors.remove_all"] == {
        "features/command_line/recovery",
        "features/second_factors/factor_reset",
    }
    assert calls["accounts.set_status"] == {"features/command_line/recovery"}
    for name, modules in writes.items():
        assert calls[name] == {module if "/" in module else f"administration/{module}" for module in modules}


def test_the_services_that_act_on_users_take_a_target_in_place_of_an_id() -> None:
    for module, names in {
        "authn/sessions": {"kick", "kick_device"},
        "authn/revocations": {"settle", "settle_status", "end_sessions"},
        "records/bans": {"ban"},
        "records/accounts": {"update", "delete"},
        "records/assignments": {"give", "revoke_roles", "revoke"},
    }.items():
        tree = ast.parse((SERVICE / f"{module}.py").read_text())
        takes = {
            node.name: [
                ast.unparse(argument.annotation) for argument in node.args.args if argument.annotation
            ]
            for node in ast.walk(tree)
            if isinstance(node, ast.AsyncFunctionDef) and node.name in names
        }
        assert set(takes) == names
        assert all("Target" in annotations for annotations in takes.values()), (module, takes)
