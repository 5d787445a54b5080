"""The shipped demands: each level has its cases, and says what its name promises."""

import re
import shutil
from functools import cache
from pathlib import Path

import pytest

from service.authz.engine.rules import PolicyError, Rule
from service.authz.publishing.demand_table import LEVELS, TABLE
from service.authz.publishing.demands import MAKING_KEYS, REACHABLE, demands_of_extension, read_demands
from service.authz.publishing.shipped import Shipped, read_shipped
from service.kernel.assurance import BY_STRONGEST, EVERY_CALLER, WORDS, Satisfied, words_at
from service.kernel.codes import HeldCodes
from service.kernel.permission_catalogue import ADMINISTERING
from service.laboratory.mutation import Bench
from service.laboratory.table_run import run_tables
from service.laboratory.tables import read_tables
from service.laboratory.tested import DEMAND_CASES, own_tables, table_places
from service.settings.sections.policy import Demands
from tests.policies.stock import POLICIES
from tests.support.cases import with_each
from tests.support.demand_rows import set_demands

MAKING_OWN_KEYS = "POST /api/user/profile/keys"
DELEGATING = "POST /api/user/profile/delegations"
FRESH = (MAKING_OWN_KEYS, DELEGATING, "GET /api/user/profile/data")
OWN_DATA = [
    *REACHABLE,
    "POST /api/auth/logout/all",
    "GET /api/auth/sessions",
    "DELETE /api/auth/sessions/{device}",
    "GET /api/user/operations",
    "GET /api/user/profile",
    "PUT /api/user/profile",
    "GET /api/user/profile/login-logs",
    "GET /api/user/profile/notices",
    "POST /api/user/profile/notices/read",
    "POST /api/user/profile/email/verification",
    "POST /api/user/profile/email/agreement",
    "DELETE /api/user/profile/factors/{id}",
    "GET /api/user/profile/origins",
    "DELETE /api/user/profile/origins/{source}",
    "POST /api/user/profile/factors/recovery-codes",
    "GET /api/menu/mine",
    "GET /api/events/mine",
    *FRESH,
    "GET /api/user/profile/keys",
    "DELETE /api/user/profile/keys/{key_id}",
    "GET /api/user/profile/agents",
    "GET /api/user/profile/delegations",
    "DELETE /api/user/profile/delegations/{delegation_id}",
    "GET /api/user/profile/approvals",
    "POST /api/user/profile/approvals/{approval_id}",
    "POST /api/auth/oidc/{provider}/link",
    "POST /api/auth/oidc/{provider}/step-up",
    "POST /api/auth/oidc/logout",
]
KEY = words_at(None, 0.0, by_key=True)
PERSONS = [satisfied for satisfied in EVERY_CALLER if satisfied is not KEY]


@cache
def shipped(level: Demands) -> Shipped:
    return read_shipped(assurance=level)


@cache
def demands(level: Demands) -> dict[str, set[str]]:
    words: dict[str, set[str]] = {}
    for rule in shipped(level).assurance:
        words.setdefault(rule.object, set()).add(rule.code)
    return words


def endpoints(level: Demands) -> dict[str, set[str]]:
    return {
        name.removeprefix("endpoint "): words
        for name, words in demands(level).items()
        if name.startswith("endpoint ") and words != {"@anyone"}
    }


def passes(words: set[str], satisfied: Satisfied) -> bool:
    return bool(words & satisfied.codes)


@pytest.mark.extended  # of the level in force, dev.py check asks this of all lines
@pytest.mark.parametrize("level", LEVELS)
def test_its_cases_hold_and_depend_on_each_of_its_lines(level: Demands) -> None:
    own = shipped(level)
    tables = own_tables(own, table_places(POLICIES, level))
    demanding = [table for table in tables if table.path.name == DEMAND_CASES]

    assert demanding
    assert run_tables(own.model_text, demanding) == []
    assert [line for line in Bench(own, demanding).uncovered_lines() if "p, assurance" in line] == []


ERASING = ("GET /api/user/{id}/erasure", "POST /api/user/{id}/erasure")
"""What is erased cannot be restored: a fresh login, at other levels by two factors. No key erases."""


def test_base_asks_for_a_login_only() -> None:
    fresh = {
        "account enrol-first-factor self",
        "account change-factors self",
        "account change-credentials-by-factor self",
        "account create-personal-key-beside-factor self",
        "account delegate-beside-factor self",
        "account erase-beside-factor self",
        *(f"endpoint {name}" for name in (*FRESH, *ERASING)),
    }

    others = {name: words for name, words in endpoints("base").items() if name not in (*FRESH, *ERASING)}
    fresh_login = [endpoints("base")[name] for name in (*FRESH, *ERASING)]
    assert fresh_login == [{"@login-within-15m"}] * len(fresh_login)
    assert {word for words in others.values() for word in words} == {
        "@initial",
        "@login",
        "@service",
    }
    assert {
        name for name, words in demands("base").items() if any("within" in word for word in words)
    } == fresh


@pytest.mark.parametrize("level", ["administrators", "everybody"])
def test_who_has_logged_in_with_a_password_alone_administers_nothing(level: Demands) -> None:
    asked = {"POST /api/policy/explain", *(name for name in ADMINISTERING if " /access/" in name)}
    written = {name for name in ADMINISTERING - asked if not name.startswith("GET ")}
    weak = [satisfied for satisfied in PERSONS if "@two-factors" not in satisfied.codes]

    assert written < endpoints(level).keys()
    assert [
        (name, satisfied)
        for name in sorted({*written, "POST /api/user", "PUT /api/user/{id}/password"})
        for satisfied in weak
        if passes(endpoints(level)[name], satisfied)
    ] == []


def test_who_has_logged_in_with_a_password_alone_exports_nothing_reads_no_log_and_runs_no_job() -> None:
    weak = [satisfied for satisfied in PERSONS if "@two-factors" not in satisfied.codes]
    asked = endpoints("administrators")
    closed = [
        name for name in asked if re.search(r"/(export|operation-log/.*|login-log/.*|run|paused)$", name)
    ]

    assert len(closed) == 10
    assert [name for name in closed if any(passes(asked[name], satisfied) for satisfied in weak)] == []


def test_everybody_needs_two_factors_for_all_but_the_own_data() -> None:
    password = [satisfied for satisfied in PERSONS if "@two-factors" not in satisfied.codes]
    open_to_password = {
        name
        for name, words in endpoints("everybody").items()
        if any(passes(words, satisfied) for satisfied in password)
    }

    assert open_to_password == set(OWN_DATA)


@with_each("level", LEVELS)
def test_a_demand_is_never_less_than_the_one_before(level: Demands) -> None:
    weaker = LEVELS[max(LEVELS.index(level) - 1, 0)]

    assert demands(level).keys() == demands(weaker).keys()
    assert [
        name
        for name, words in demands(level).items()
        for satisfied in EVERY_CALLER
        if passes(words, satisfied) and not passes(demands(weaker)[name], satisfied)
    ] == []


@with_each("level", LEVELS)
def test_making_a_key_demands_what_all_endpoints_do_together(level: Demands) -> None:
    makers = [satisfied for satisfied in PERSONS if passes(demands(level)[MAKING_KEYS], satisfied)]

    assert makers
    assert not passes(demands(level)[MAKING_KEYS], KEY)
    # These are closed to service accounts, so no key that is made opens them.
    opened = [words for name, words in endpoints(level).items() if name not in (*FRESH, *ERASING)]
    assert all(passes(words, maker) for words in opened for maker in makers)


@pytest.mark.parametrize("word", [word for word in WORDS if word not in ("@anyone", "@initial", "@login")])
def test_no_file_may_close_the_ways_to_prove_more(tmp_path: Path, word: str) -> None:
    shutil.copy(POLICIES / TABLE, tmp_path)
    set_demands(tmp_path, "endpoint POST /api/auth/step-up", word, "base")

    with pytest.raises(PolicyError, match="so that users can authenticate further"):
        read_demands(tmp_path, "base", shipped("base").endpoints)


@pytest.mark.parametrize(
    ("made", "fault"),
    [("@service", "an API key could create others"), ("@login", "must not demand less than")],
)
def test_no_file_may_make_a_key_the_way_round_a_factor(tmp_path: Path, made: str, fault: str) -> None:
    shutil.copy(POLICIES / TABLE, tmp_path)
    set_demands(tmp_path, MAKING_KEYS, made, "administrators")

    with pytest.raises(PolicyError, match=fault):
        read_demands(tmp_path, "administrators", shipped("administrators").endpoints)


SHOP = [
    Rule("endpoint", "GET /api/shop", "shop:list"),
    Rule("endpoint", "GET /api/shop/open", "@anyone"),
    Rule("endpoint", "DELETE /api/shop", "shop:delete"),
]


def test_an_endpoint_of_an_extension_asks_for_a_login_or_a_key_unless_it_says_more() -> None:
    own = Rule("assurance", "endpoint DELETE /api/shop", "@two-factors")

    assert demands_of_extension(Path("shop.csv"), [*SHOP, own]) == (
        *SHOP,
        own,
        Rule("assurance", "endpoint GET /api/shop", "@login"),
        Rule("assurance", "endpoint GET /api/shop", "@service"),
        Rule("assurance", "endpoint GET /api/shop/open", "@anyone"),
    )


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("endpoint POST /api/user", "@anyone"),
        ("endpoint GET /api/shop/open", "@login"),
        ("account set-contact self", "@anyone"),
    ],
)
def test_an_extension_demands_nothing_of_what_is_not_its_own(name: str, word: str) -> None:
    with pytest.raises(PolicyError, match=name.partition(" ")[2]):
        demands_of_extension(Path("shop.csv"), [*SHOP, Rule("assurance", name, word)])


@with_each("level", LEVELS)
def test_each_demand_of_the_cases_is_asked_of_every_kind_of_caller(level: Demands) -> None:
    (table,) = read_tables([POLICIES / DEMAND_CASES], shipped(level))
    asked: dict[str, list[Satisfied | None]] = {}
    for each in table.asked:
        (question,) = each.questions
        assert not isinstance(question.held, HeldCodes)
        asked.setdefault(question.object, []).append(question.held)

    for name in demands(level):
        assert len(asked[name]) == len(WORDS) + 1, name
        assert {*asked[name]} == {None, *BY_STRONGEST.values()}, name
