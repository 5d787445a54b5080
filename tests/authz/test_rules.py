from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.authz.engine.policy import Policy
from service.authz.engine.rules import METHODS, PolicyError, Rule, as_csv, checked, read_rules
from service.kernel.codes import HeldCodes
from service.laboratory.analysis.comparison import differing_requests
from tests.policies.stock import MODEL, stock_enforcer
from tests.support.cases import with_each

GOOD = "p, endpoint, GET /api/role/list, system:role:list"


def faults_of(folder: Path, text: str) -> tuple[str, ...]:
    path = folder / "lines.csv"
    path.write_bytes(text.encode())
    with pytest.raises(PolicyError) as caught:
        read_rules(path)
    return tuple(fault.removeprefix(f"{path}:") for fault in caught.value.faults)


def test_a_line_is_written_as_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "lines.csv"
    elsewhere = "p, resource, orders GET /x/, @anyone\np, resource, orders @unregistered, @login\n"
    path.write_text(f"# for people\n\n{GOOD}\np, resource, @unregistered, @login\n{elsewhere}")

    rules = read_rules(path)

    assert rules == (
        Rule("endpoint", "GET /api/role/list", "system:role:list"),
        Rule("resource", "@unregistered", "@login"),
        Rule("resource", "orders GET /x/", "@anyone"),
        Rule("resource", "orders @unregistered", "@login"),
    )
    assert str(rules[0]) == GOOD


def test_words_that_open_nothing_are_parted_and_the_old_ones_are_read(tmp_path: Path) -> None:
    takes = "p, approve, role auditor stage 1 takes 2"
    lines = [
        f"{start}, {word}"
        for start, words in {
            takes: ("@counted", "@nobody"),
            "p, service, orders": ("@registered", "@nobody"),
            "p, resource, GET /x": ("@nobody",),
        }.items()
        for word in words
    ]
    path = tmp_path / "lines.csv"
    path.write_text("\n".join(lines))
    rules = read_rules(path)
    policy = Policy(MODEL.read_text("utf-8"), rules)

    assert [*map(str, rules)] == lines
    assert policy.service("orders") is not None
    for rule in rules:
        for held in (None, HeldCodes(["*", "a:b"])):
            decision = policy.judge(rule.layer, rule.object, held)
            assert (decision.allowed, decision.required) == (False, ())
    assert differing_requests(policy, Policy(policy.model_text)) != []


@with_each(
    ("line", "reason"),
    [
        (
            "p, endpoints, GET /api/x, @login",
            "the layer must be resource, endpoint, grant, permission, service, account, assurance, request, ",
        ),
        ("p, endpoint, orders GET /x, @login", "the object must be"),
        ("p, request, auditor, @login", "the object must be 'role <code>'"),
        ("p, request, role auditor, @anyone", "the code must be a permission code or @login"),
        ("p, request, role auditor urgent, @login", "the object must be 'role <code>'"),
        (
            "p, approve, role auditor stage 1 for self, system:role:update",
            "authors cannot approve their own requests",
        ),
        ("p, approve, role auditor stage 1 for self, @nobody", "authors cannot approve their own requests"),
        ("p, approve, role auditor stage 1 for others, @login", "the code must be a permission code"),
        ("p, approve, role auditor stage 1 takes 2, system:role:update", "the code must be @counted"),
        ("p, approve, role auditor without-grant, system:role:update", "the code must be @login"),
        (
            "p, approve, role auditor stage 0 for others, system:role:update",
            "the object must have a form such as",
        ),
        ("p, assurance, approve role auditor, @login", "the object must be a layer"),
        (
            "p, review, assignment for self, system:review:decide",
            "reviewers cannot decide about their own access",
        ),
        ("p, review, assignment for unasked, @nobody", "reviewers cannot decide about their own access"),
        ("p, review, assignment for others, @login", "the code must be a permission code"),
        ("p, review, assignment of others, system:review:decide", "the object must be one of assignment for"),
        (
            "p, review, assignment for others by a:b, system:review:decide",
            "of a line of this layer must be equal",
        ),
        ("p, review, assignment for others by a:b, @nobody", "of a line of this layer must be equal"),
        ("p, review, assignment for others by @login, @login", "the object must be a permission code"),
        ("p, review, assignment for self by a:b, a:b", "the object must be one of assignment for"),
        ("p, review, assignment for unasked by a:b, a:b", "the object must be one of assignment for"),
        ("p, endpoint, orders @unregistered, @login", "the object must be"),
        ("p, resource, portcullis GET /x, @login", "'portcullis' can't be the name of another service"),
        ("p, resource, oRders GET /x, @login", "'oRders' can't be the name of another service"),
        ("p, resource, orders @no-session, @anyone", "the object must be"),
        ("p, resource, orders @ambiguous, @anyone", "the object must be"),
        ("p, resource, @unknown, @anyone", "the object must be"),
        ("p, resource, orders GET /x//, @login", "a path starts with"),
        ("p, resource, orders GET //, @login", "a path starts with"),
        ("p, resource, orders  GET /x, @login", "the object must be"),
        ("p, service, portcullis, @nobody", "the object must be the name of another service"),
        ("p, service, orders, @login", "the code must be one of @nobody, @ignore-case"),
        ("p, service, orders, a:b", "the code must be one of @nobody, @ignore-case"),
        ("p, resource, orders GET /x, @ignore-case", "the code must be"),
        ("p, , GET /api/x, @login", "the layer must be"),
        ("p, endpoint, @unregistered, @login", "@unregistered is an object of the resource layer"),
        ("p, resource, @registered, @login", "the object must be"),
        ("p, endpoint, /api/x, @login", "the object must be"),
        ("p, endpoint, get /api/x, @login", "the object must be"),
        ("p, endpoint, HEAD /api/x, @login", "the object must be"),
        ("p, endpoint, GET, @login", "the object must be"),
        ("p, endpoint, GET  /api/x, @login", "a path starts with"),
        ("p, endpoint, GET /api/x/, @login", "a path starts with"),
        ("p, endpoint, GET /api/{id:int}, @login", "a path starts with"),
        ("p, endpoint, GET /api/(x), @login", "a path starts with"),
        ("p, endpoint, GET /api/x[1], @login", "a path starts with"),
        ('p, endpoint, GET /api/"x", @login', "a path starts with"),
        ("p, endpoint, GET /api/#x, @login", "a path starts with"),
        ("p, endpoint, GET /api/x, @logins", "the code must be"),
        ("p, endpoint, GET /api/x, @unregistered", "the code must be"),
        ("p, endpoint, GET /api/x, System:role", "the code must be"),
        ("p, endpoint, GET /api/x, system::list", "the code must be"),
        ("p, endpoint, GET /api/x, system:role*", "the code must be"),
        ("p, endpoint, GET /api/x, ", "the code must be"),
        ("p, endpoint, GET /api/x, @login # why", "the code must be"),
        ("p, endpoint, GET /api/x, @login ", "the code must be"),
        ("p, endpoint, GET /api/x,  @login", "the code must be"),
        ("p, endpoint, GET /api/x, " + "a" * 129, "the code must be"),
        ("p, endpoint, GET /api/x", "has 3 columns"),
        ("p, endpoint, GET /api/x, @login, allow", "has 5 columns"),
        ("p,endpoint,GET /api/x,@login", "a line must start with 'p, '"),
        ("g, admin, user", "a line must start with 'p, '"),
        (" # a comment", "a line must start with 'p, '"),
        (GOOD, "duplicate line"),
    ],
)
def test_a_line_outside_the_grammar_is_refused_with_its_number(
    tmp_path: Path, line: str, reason: str
) -> None:
    (fault,) = faults_of(tmp_path, f"# two lines\n{GOOD}\n{line}\n")

    assert fault.startswith("3: ")
    assert reason in fault


def test_all_faults_of_a_file_are_told_together(tmp_path: Path) -> None:
    faults = faults_of(tmp_path, f"p, x, GET /a, @login\n{GOOD}\np, endpoint, GET /a, @x\n")

    assert [fault.split(":")[0] for fault in faults] == ["1", "3"]


def test_a_file_that_is_missing_or_no_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="can't be read"):
        read_rules(tmp_path / "none.csv")
    (tmp_path / "bytes.csv").write_bytes(b"\xff\n")
    with pytest.raises(PolicyError, match="can't be read"):
        read_rules(tmp_path / "bytes.csv")


segments = st.from_regex(r"[A-Za-z0-9_~-][A-Za-z0-9._~-]{0,5}|\{[a-z_]{1,4}\}", fullmatch=True)
objects = st.builds(
    lambda method, parts: f"{method} /{'/'.join(parts)}",
    st.sampled_from(METHODS),
    st.lists(segments, max_size=4),
)
codes = st.one_of(
    st.sampled_from(["@anyone", "@login", "@nobody"]),
    st.from_regex(r"(?:[a-z0-9_-]{1,4}|\*)(?::(?:[a-z0-9_-]{1,4}|\*)){0,3}", fullmatch=True),
)
rules = st.builds(Rule, st.sampled_from(["resource", "endpoint"]), objects, codes)


@given(lines=st.lists(rules, max_size=8, unique=True))
def test_a_plain_casbin_reads_the_lines_that_the_strict_reader_reads(
    tmp_path_factory: pytest.TempPathFactory, lines: list[Rule]
) -> None:
    folder = tmp_path_factory.mktemp("lines")
    enforcer = stock_enforcer(folder, lines)

    assert [tuple(line) for line in enforcer.get_policy()] == lines
    assert list(read_rules(folder / "lines.csv")) == lines


POISON = st.text(alphabet=',"[]()#; \t\n\r\\x00{}\u2028', min_size=1, max_size=3)


@given(poison=POISON, at=st.integers(0, 2), before=st.booleans())
def test_no_value_that_casbin_would_read_otherwise_passes(poison: str, at: int, before: bool) -> None:
    columns = ["endpoint", "GET /api/x", "system:x"]
    columns[at] = poison + columns[at] if before else columns[at] + poison
    try:
        (rule,) = checked([("here", columns)])
    except PolicyError:
        return
    assert not set(as_csv([rule])[3:-1]) & set('"[]()#;\t\n\r\\\u2028')
    assert as_csv([rule]).count(",") == 3


LINES = "# a comment\np, endpoint, GET /api/x, system:x\n\np, endpoint, GET /api/y, @login\n"


@pytest.mark.parametrize("written", [LINES.replace("\n", "\r\n"), f"\ufeff{LINES}"], ids=["windows", "mark"])
def test_a_file_that_an_editor_of_windows_has_written_is_read_alike(tmp_path: Path, written: str) -> None:
    (tmp_path / "plain.csv").write_bytes(LINES.encode())
    (tmp_path / "written.csv").write_bytes(written.encode())
    assert read_rules(tmp_path / "written.csv") == read_rules(tmp_path / "plain.csv")


def test_a_return_within_a_line_is_refused(tmp_path: Path) -> None:
    (tmp_path / "lines.csv").write_bytes(
        b"p, endpoint, GET /api/x, system:x\rp, endpoint, GET /api/y, @login\n"
    )
    with pytest.raises(PolicyError):
        read_rules(tmp_path / "lines.csv")
