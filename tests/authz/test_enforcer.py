import logging
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import casbin
import pytest
from casbin.core_enforcer import EnforceContext
from hypothesis import given, settings
from hypothesis import strategies as st

from service.authz.engine.enforcer import IndexedEnforcer
from service.authz.engine.predicates import ANONYMOUS
from service.authz.engine.rules import Rule
from service.kernel.codes import HeldCodes
from tests.policies.stock import MODEL, stock_decide
from tests.support.cases import with_each

TEXT = MODEL.read_text("utf-8")
ROLES = Rule("endpoint", "GET /api/role/list", "system:role:list")
LOGIN = Rule("endpoint", "GET /api/user/info", "@login")
HOLDER, OTHER = HeldCodes(["system:role:list"]), HeldCodes(["system:user:list"])

layers = st.sampled_from(["resource", "endpoint"])
objects = st.sampled_from(["GET /a", "GET /a/{b}", "POST /a", "@unregistered", "@no-session"])
codes = st.sampled_from(
    [
        "@anyone",
        "@login",
        "@nobody",
        "*",
        "a",
        "b",
        "a:*",
        "a:b",
        "a:b:c",
        "a:*:c",
        "*:b",
        "*:*",
        "a:b:*",
        "b:b",
    ]
)
rules = st.builds(Rule, layers, objects, codes)
callers = st.one_of(st.none(), st.frozensets(codes, max_size=3).map(HeldCodes))
requests = st.tuples(
    st.one_of(layers, st.sampled_from(["", "Resource"])), st.one_of(objects, st.just("")), callers
)


@settings(deadline=None)
@given(lines=st.lists(rules, max_size=12, unique=True), asked=st.lists(requests, min_size=1, max_size=12))
def test_a_plain_casbin_on_the_same_files_gives_the_same_answers_by_the_same_lines(
    tmp_path_factory: pytest.TempPathFactory,
    lines: list[Rule],
    asked: list[tuple[str, str, HeldCodes | None]],
) -> None:
    plain = stock_decide(tmp_path_factory.mktemp("plain"), lines)
    indexed = IndexedEnforcer(TEXT, lines)

    for layer, name, held in asked:
        caller = ANONYMOUS if held is None else held
        assert indexed.enforce_ex(layer, name, caller) == plain(layer, name, held)


def test_without_lines_everything_is_denied() -> None:
    enforcer = IndexedEnforcer(TEXT, [])

    for layer in ("resource", "endpoint", ""):
        for name in ("GET /a", "@unregistered", "@no-session", ""):
            for caller in (ANONYMOUS, HOLDER, HeldCodes(["*"]), HeldCodes([""]), HeldCodes(["@anyone"])):
                assert enforcer.enforce_ex(layer, name, caller) == (False, None)


def test_the_deciding_line_is_the_first_that_matches() -> None:
    lines = [Rule("endpoint", "GET /a", code) for code in ("a:b", "a:c", "@login")]
    enforcer = IndexedEnforcer(TEXT, lines)

    assert enforcer.enforce_ex("endpoint", "GET /a", HeldCodes(["a:c"])) == (True, lines[1])
    assert enforcer.enforce_ex("endpoint", "GET /a", HeldCodes()) == (True, lines[2])
    assert enforcer.enforce_ex("endpoint", "GET /a", ANONYMOUS) == (False, None)


def test_a_line_of_one_layer_or_object_says_nothing_about_another() -> None:
    enforcer = IndexedEnforcer(TEXT, [ROLES])

    assert enforcer.enforce("endpoint", "GET /api/role/list", HOLDER)
    assert not enforcer.enforce("resource", "GET /api/role/list", HOLDER)
    assert not enforcer.enforce("endpoint", "GET /api/role/list/", HOLDER)
    assert not enforcer.enforce("endpoint", "GET /api/role/{id}", HOLDER)


@with_each("held", ["*", "*:*", "@nobody", "@anyone", "@*", "@nobody:*"])
def test_nobody_is_nobody(held: str) -> None:
    enforcer = IndexedEnforcer(TEXT, [Rule("resource", "GET /a", "@nobody")])

    assert not enforcer.enforce("resource", "GET /a", HeldCodes([held]))
    assert not enforcer.enforce("resource", "GET /a", ANONYMOUS)


@with_each("caller", [None, "*", ["*"], {"*"}, ("*",), {"*": "*"}, object()])
def test_a_caller_that_is_no_set_of_held_codes_is_nobody(caller: object) -> None:
    enforcer = IndexedEnforcer(TEXT, [ROLES, LOGIN])

    assert not enforcer.enforce(*ROLES[:2], caller)
    assert not enforcer.enforce(*LOGIN[:2], caller)


def test_enable_enforce_cannot_open_it() -> None:
    enforcer = IndexedEnforcer(TEXT, [ROLES])

    with pytest.raises(AttributeError, match="immutable"):
        enforcer.enable_enforce(False)
    with pytest.raises(AttributeError, match="immutable"):
        enforcer.enabled = False

    assert not enforcer.enforce(*ROLES[:2], OTHER)


CHANGES = sorted(
    name
    for name in dir(casbin.Enforcer)
    if name.split("_")[0]
    in {"add", "build", "clear", "delete", "enable", "load", "remove", "save", "set", "update"}
)


def test_casbin_has_as_many_ways_to_change_an_enforcer_as_are_tried_here() -> None:
    assert {"add_policy", "load_policy", "set_model", "clear_policy", "enable_enforce", "add_function"} < set(
        CHANGES
    )
    assert len(CHANGES) > 40


def test_no_method_of_casbin_changes_it() -> None:
    for name in CHANGES:
        enforcer = IndexedEnforcer(TEXT, [ROLES])

        with pytest.raises(AttributeError, match=name):
            getattr(enforcer, name)("p", "p", ["endpoint", "GET /b", "@anyone"])

        assert enforcer.get_policy() == [ROLES], name


@with_each("name", ["has_policy", "get_filtered_policy", "get_all_subjects", "get_permissions_for_user"])
def test_a_question_that_casbin_would_answer_from_an_empty_list_is_refused(name: str) -> None:
    with pytest.raises(AttributeError, match=name):
        getattr(IndexedEnforcer(TEXT, [ROLES]), name)(0, "endpoint")


@with_each("name", ["model", "fm", "eft", "adapter", "enabled", "_expression", "_all"])
def test_no_part_of_it_can_be_replaced(name: str) -> None:
    with pytest.raises(AttributeError, match="immutable"):
        setattr(IndexedEnforcer(TEXT, [ROLES]), name, None)


@with_each(
    "request_",
    [
        (EnforceContext("r2", "p2", "e2", "m2"), *ROLES[:2], HOLDER),
        ROLES[:2],
        (*ROLES[:2], HOLDER, "more"),
        (),
    ],
)
def test_a_request_of_another_size_is_an_error_and_no_answer(request_: tuple[Any, ...]) -> None:
    with pytest.raises(ValueError, match="unpack"):
        IndexedEnforcer(TEXT, [ROLES]).enforce(*request_)


def test_casbins_own_functions_are_out_of_reach_of_the_matcher() -> None:
    assert (
        set(IndexedEnforcer(TEXT, []).fm.get_functions())
        & {"keyMatch", "keyMatch2", "regexMatch", "globMatch"}
        == set()
    )


def test_an_error_in_a_decision_leaves_the_next_one_right() -> None:
    class Broken(HeldCodes):
        def holds_exactly(self, code: str) -> bool:
            raise RuntimeError(code)

    enforcer = IndexedEnforcer(TEXT, [ROLES, LOGIN])

    with pytest.raises(RuntimeError):
        enforcer.enforce(*ROLES[:2], Broken(["x"]))

    assert enforcer.enforce_ex(*LOGIN[:2], OTHER) == (True, LOGIN)
    assert not enforcer.enforce(*ROLES[:2], OTHER)


def test_nothing_is_logged_about_callers(caplog: pytest.LogCaptureFixture) -> None:
    enforcer = IndexedEnforcer(TEXT, [ROLES])
    for name in ("casbin", "casbin.enforcer", "casbin.policy"):
        logging.getLogger(name).disabled = False

    with caplog.at_level(logging.DEBUG):
        enforcer.enforce(*ROLES[:2], HOLDER)
        enforcer.enforce(*ROLES[:2], OTHER)

    assert caplog.records == []


def test_decisions_in_many_threads_do_not_mix() -> None:
    lines = [Rule("endpoint", f"GET /{n}", f"a:{n}") for n in range(8)]
    enforcer = IndexedEnforcer(TEXT, lines)
    start = threading.Barrier(8)

    def ask(n: int) -> list[bool]:
        start.wait()
        mine, foreign = HeldCodes([f"a:{n}"]), HeldCodes([f"a:{(n + 1) % 8}"])
        return [
            enforcer.enforce_ex("endpoint", f"GET /{n}", mine) == (True, lines[n])
            and enforcer.enforce_ex("endpoint", f"GET /{n}", foreign) == (False, None)
            for _ in range(300)
        ]

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            answers = [answer for result in pool.map(ask, range(8)) for answer in result]
    finally:
        sys.setswitchinterval(before)

    assert len(answers) == 2400
    assert all(answers)


def test_the_model_file_loads_into_a_plain_enforcer(tmp_path: Path) -> None:
    decide = stock_decide(tmp_path, [ROLES, LOGIN])

    assert decide(*ROLES[:2], HOLDER) == (True, ROLES)
    assert decide(*ROLES[:2], OTHER) == (False, None)
    assert decide(*LOGIN[:2], None) == (False, None)
