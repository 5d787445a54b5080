from pathlib import Path

import pytest

from service.authz.engine.rules import PolicyError
from service.laboratory.table_run import run_tables
from service.laboratory.tables import read_tables
from tests.policies.stock import POLICIES, SHIPPED

CALLERS = "callers: {visitor: null, newcomer: [], lister: [system:role:list]}\n"
ALLOWED = """\
cases:
  - caller: lister
    asks: GET /api/role/list
    outcome: allow
    layer: endpoint
    line: p, endpoint, GET /api/role/list, system:role:list
    through: p, resource, @unregistered, @login
"""
DENIED = """\
cases:
  - caller: newcomer
    asks: {layer: resource, object: GET /api/old}
    outcome: deny
    layer: resource
    required: []
    reason: closed
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "cases.yaml"


def faults_of(path: Path, text: str) -> str:
    path.write_text(text, "utf-8")
    with pytest.raises(PolicyError) as error:
        read_tables([path], SHIPPED)
    return str(error.value).replace(str(path), "cases.yaml")


def failures_of(path: Path, text: str) -> list[tuple[str, tuple[str, ...]]]:
    path.write_text(text, "utf-8")
    failures = run_tables(SHIPPED.model_text, read_tables([path], SHIPPED))
    assert {failure.place for failure in failures} <= {f"{path}:3"}
    return [(failure.enforcer, failure.reasons) for failure in failures]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (ALLOWED, "cases.yaml:1: callers: The field is required"),
        (CALLERS + "cases: []\n", "cases.yaml: the table has no cases"),
        (CALLERS + ALLOWED + "case: []\n", "cases.yaml:9: case: There is no such field"),
        (CALLERS + ALLOWED + CALLERS, "cases.yaml:9: the key 'callers' is there already"),
        (CALLERS + ALLOWED.replace("lister", "&one lister") + "    reason: *one\n", "cases.yaml:9: aliases"),
        (CALLERS + ALLOWED.replace("allow", "alow"), "cases.yaml:5: outcome: must be one of: allow, deny"),
        (
            CALLERS + ALLOWED.replace("caller: lister", "caller: lster"),
            "cases.yaml:3: the table has no caller 'lster'",
        ),
        (
            CALLERS.replace("role:list]", "Role]") + ALLOWED,
            "cases.yaml:1: 'system:Role' is no permission code",
        ),
        (
            CALLERS + ALLOWED.replace("/api/role/list\n", "/api/rôle\n", 1),
            "a character that is not allowed",
        ),
        (CALLERS + ALLOWED.replace("/api/role/list\n", "/api//role\n", 1), "an empty, '.' or '..' segment"),
        (CALLERS + DENIED.replace("    required: []\n", ""), "cases.yaml:3: a denied case must have"),
        (CALLERS + ALLOWED + "    required: []\n", "cases.yaml:3: a denied case must have"),
        (
            CALLERS + DENIED.replace("object: GET", "request: GET /a, object: GET"),
            "a question is about an object, a request or a demand, and only one of them",
        ),
        (CALLERS + "registered: {GET /api/x: [a:b], 'GET /{x': []}\n" + ALLOWED, "'GET /{x'"),
        (
            CALLERS
            + "registered: {GET /api/x: [a:b]}\ndemands: {GET /api/y: {assurance: login}}\n"
            + ALLOWED,
            "cases.yaml:3: 'GET /api/y' is not registered",
        ),
        (
            CALLERS
            + "registered: {GET /api/x: []}\ndemands: {GET /api/x: {assurance: '@login'}}\n"
            + ALLOWED,
            "cases.yaml:3: assurance: must be one of: login, ",
        ),
        ("cases: [\n", "cases.yaml:2: "),
        ("", "the file is empty"),
    ],
)
def test_a_file_that_is_no_table_is_refused_with_line_and_reason(path: Path, text: str, fault: str) -> None:
    assert fault in faults_of(path, text)


def test_a_path_without_tables_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="there are no decision tables"):
        read_tables([tmp_path / "nowhere"], SHIPPED)
    with pytest.raises(PolicyError, match="there are no decision tables"):
        read_tables([tmp_path], SHIPPED)


def test_all_faults_of_all_files_are_told_together(tmp_path: Path) -> None:
    for name in ("a.yaml", "b.yaml"):
        (tmp_path / name).write_text(CALLERS + ALLOWED.replace("caller: lister", "caller: nobody"))

    with pytest.raises(PolicyError) as error:
        read_tables([tmp_path], SHIPPED)
    assert len(error.value.faults) == 2


def test_a_case_that_holds_has_no_failure(path: Path) -> None:
    assert failures_of(path, CALLERS + ALLOWED) == []


@pytest.mark.parametrize(
    ("text", "reasons"),
    [
        (
            ALLOWED.replace("caller: lister", "caller: newcomer"),
            (
                "outcome is deny, not allow",
                "line is none, not p, endpoint, GET /api/role/list, system:role:list",
                "required is [system:role:list, system:user:create, system:user:update], not none",
            ),
        ),
        (
            ALLOWED.replace("@unregistered", "@no-session"),
            ("through is p, resource, @unregistered, @login, not p, resource, @no-session, @login",),
        ),
        (
            ALLOWED.replace("/api/role/list\n", "/api/roles\n", 1),
            (
                "outcome is deny, not allow",
                "line is none, not p, endpoint, GET /api/role/list, system:role:list",
                "required is [], not none",
            ),
        ),
        (DENIED, ("reason is no_line, not closed",)),
        (DENIED.replace("[]", "[a:b]"), ("required is [], not [a:b]", "reason is no_line, not closed")),
        (
            DENIED.replace("layer: resource\n    req", "layer: endpoint\n    req"),
            ("layer is resource, not endpoint",),
        ),
    ],
)
def test_a_case_that_fails_says_what_differs_by_both_enforcers(
    path: Path, text: str, reasons: tuple[str, ...]
) -> None:
    failures = failures_of(path, CALLERS + text)

    assert [enforcer for enforcer, _ in failures] == ["indexed", "plain"]
    assert {messages[: len(reasons)] for _, messages in failures} == {reasons}


def test_a_case_of_several_callers_is_asked_for_each(path: Path) -> None:
    path.write_text(CALLERS + ALLOWED.replace("caller: lister", "caller: [lister, newcomer]"))

    failures = run_tables(SHIPPED.model_text, read_tables([path], SHIPPED))

    assert {failure.asked for failure in failures} == {"newcomer asks GET /api/role/list"}


def test_a_denial_whose_required_code_would_not_open_alone_fails() -> None:
    model = SHIPPED.model_text.replace("    || holdsExactly(r.caller, p.code) \\\n", "")
    (table,) = read_tables([POLICIES / "cases" / "menus.yaml"], SHIPPED)

    assert any("alone does not open it" in str(failure) for failure in run_tables(model, [table]))


def test_the_plain_enforcer_sees_what_the_index_of_the_service_hides() -> None:
    # Without the equality of objects a plain Casbin opens everything; the index has an object's lines only.
    model = SHIPPED.model_text.replace("r.object == p.object && ", "")
    (table,) = read_tables([POLICIES / "cases" / "menus.yaml"], SHIPPED)

    assert {failure.enforcer for failure in run_tables(model, [table])} == {"plain"}
