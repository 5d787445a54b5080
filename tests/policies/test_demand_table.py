"""``assurance.table``: read strictly, and the same policy as the former files and for a plain Casbin."""

import re
import shutil
from argparse import Namespace
from dataclasses import replace
from pathlib import Path

import casbin
import pytest

from service.authz.engine.rules import PolicyError, Rule, read_rules
from service.authz.publishing.demand_table import LEVELS, TABLE, as_table, read_table
from service.authz.publishing.shipped import read_shipped
from service.features.policy_tests import commands_check as policy_check
from service.kernel.extension import Extension
from service.laboratory.tables import DemandedOf, read_tables
from service.laboratory.tested import DEMAND_CASES, demand_levels, table_places
from service.settings import load
from service.settings.sections.policy import Demands
from tests.policies.stock import MODEL, POLICIES, SHIPPED
from tests.support.cases import with_each
from tests.support.demand_rows import add_demands, set_demands, to_former_files

HEAD = "base | administrators | everybody | object\n"
ROW = "@login @service | @two-factors | @two-factors | endpoint GET /a\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the shipped files."""
    return Path(shutil.copytree(POLICIES, tmp_path / "policies"))


def written(folder: Path, text: str) -> Path:
    path = folder / TABLE
    path.write_bytes(text.encode())
    return path


def checked(capsys: pytest.CaptureFixture[str], folder: Path, level: str = "base", **options: bool) -> str:
    """Return what ``policy check`` prints of a policy folder, which is in order."""
    variables = {"PORTCULLIS_POLICY__FOLDER": str(folder), "PORTCULLIS_POLICY__ASSURANCE": level}
    assert policy_check.run(Namespace(**{"lines": False, "table": False} | options), variables) == 0
    return capsys.readouterr().out


def test_each_word_of_a_cell_becomes_a_line_of_its_column(tmp_path: Path) -> None:
    text = f"\ufeff# Readers.\n\n{HEAD}{ROW}# More.\n@anyone|@anyone|   @login   |account set-contact self"

    lines = read_table(written(tmp_path, text.replace("\n", "\r\n")))

    reading, contact = "endpoint GET /a", "account set-contact self"
    assert lines["base"] == (
        Rule("assurance", reading, "@login"),
        Rule("assurance", reading, "@service"),
        Rule("assurance", contact, "@anyone"),
    )
    assert [str(rule) for rule in lines["everybody"]] == [
        "p, assurance, endpoint GET /a, @two-factors",
        "p, assurance, account set-contact self, @login",
    ]


@with_each(
    ("text", "fault"),
    [
        ("", ": the first row must be the header 'base | administrators | everybody | object', not ''"),
        (ROW, ":1: the first row must be the header"),
        (HEAD.replace("everybody", "everyone") + ROW, ":1: the first row must be the header"),
        (HEAD.replace(" | object", " | strict | object") + ROW, ":1: the first row must be the header"),
        (HEAD.replace("everybody | ", "") + ROW, ":1: the first row must be the header"),
        (HEAD.replace("base | administrators", "administrators | base") + ROW, ":1: the first row"),
        (HEAD + HEAD, ":2: column object: the object must be a layer"),
        (
            HEAD + ROW.replace("@two-factors | ", "", 1),
            ":2: a row must have the 4 columns base, administrators",
        ),
        (HEAD + ROW.replace("\n", " | @login\n"), ":2: a row must have the 4 columns"),
        (
            HEAD + "@login\n",
            ":2: a row must have the 4 columns base, administrators, everybody, object; this one has 1",
        ),
        (
            HEAD + ROW.replace("@login @service", ""),
            ":2: column base: the cell is empty; write @anyone for no demand",
        ),
        (
            HEAD + ROW.replace("@two-factors", "@three-factors", 1),
            ":2: column administrators: the code must be one of",
        ),
        (HEAD + ROW.replace("@service", "system:role:list"), ":2: column base: the code must be one of"),
        (HEAD + ROW.replace("@service", "@nobody"), ":2: column base: the code must be one of"),
        (HEAD + ROW.replace("@service", "@login"), ":2: column base: @login appears twice"),
        (HEAD + ROW.replace("@login ", "@login  "), ":2: column base: the code must be one of"),
        (HEAD + ROW.replace("@login ", "@login\t"), ":2: column base: the code must be one of"),
        (HEAD + ROW.replace("@login ", "@login, "), ":2: column base: the code must be one of"),
        (HEAD + ROW.replace("endpoint ", ""), ":2: column object: the object must be a layer"),
        (HEAD + ROW.replace("/a", "/a  # why"), ":2: column object: a path starts with '/'"),
        (HEAD + " # why\n" + ROW, ":2: a row must have the 4 columns"),
        (HEAD + ROW + "\n" + ROW, ":4: column object: 'endpoint GET /a' appears twice, first in "),
    ],
)
def test_a_table_with_a_fault_is_refused_with_line_and_column(tmp_path: Path, text: str, fault: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(PolicyError, match=re.escape(f"{path}{fault}")):
        read_table(path)


def test_a_table_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / TABLE).write_bytes(b"\xff\n")
    with pytest.raises(PolicyError, match=r"assurance\.table can't be read"):
        read_table(tmp_path / TABLE)


@pytest.mark.parametrize("level", LEVELS)
def test_a_fault_in_any_column_ends_the_start_and_all_are_told(folder: Path, level: Demands) -> None:
    set_demands(folder, "endpoint GET /api/role/list", "@logins", "base")
    set_demands(folder, "endpoint POST /api/user", "@two-factor @service", "everybody")

    with pytest.raises(PolicyError) as error:
        read_shipped(MODEL, folder, assurance=level)

    assert [fault.split(": ")[1] for fault in error.value.faults] == ["column everybody", "column base"]


def test_a_new_endpoint_without_a_row_ends_the_start(folder: Path) -> None:
    with (folder / "endpoints.csv").open("a") as lines:
        lines.write("p, endpoint, GET /api/new, system:user:list\n")
    with pytest.raises(PolicyError, match=r"column base: 'endpoint GET /api/new' has no line"):
        read_shipped(MODEL, folder)
    add_demands(folder, "endpoint GET /api/new", "@login @service")
    assert Rule("assurance", "endpoint GET /api/new", "@service") in read_shipped(MODEL, folder).assurance


def test_the_shipped_table_is_aligned_and_says_nothing_twice() -> None:
    rows = [
        row for row in (POLICIES / TABLE).read_text("utf-8").splitlines() if row and not row.startswith("#")
    ]
    assert [*map(str.rstrip, rows)] == as_table(read_table(POLICIES / TABLE)).splitlines()


@pytest.mark.parametrize("level", LEVELS)
def test_a_plain_casbin_reads_the_lines_that_policy_check_prints(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], level: Demands
) -> None:
    printed = tmp_path / "lines.csv"
    printed.write_text(checked(capsys, POLICIES, level, lines=True), "utf-8")

    loaded = sorted(map(tuple, casbin.Enforcer(str(MODEL), str(printed)).get_policy()))

    assert loaded == sorted(map(tuple, read_shipped(assurance=level).rules))
    assert loaded == sorted(map(tuple, read_rules(printed)))  # nothing but lines and comments
    rows = [
        row.split("|") for row in (POLICIES / TABLE).read_text("utf-8").splitlines() if row.startswith("@")
    ]
    words = {(row[-1].strip(), word) for row in rows for word in row[LEVELS.index(level)].split()}
    assert words == {(name, word) for layer, name, word in loaded if layer == "assurance"}


@pytest.mark.parametrize("level", LEVELS)
def test_the_former_files_are_the_same_policy_as_the_table(folder: Path, level: Demands) -> None:
    to_former_files(folder)

    former, shipped = read_shipped(MODEL, folder, assurance=level), read_shipped(assurance=level)

    assert former.digest == shipped.digest
    assert former.rules == shipped.rules


def test_of_former_files_only_the_one_in_use_is_required(folder: Path) -> None:
    to_former_files(folder, "administrators")
    settings = load(
        {"PORTCULLIS_POLICY__FOLDER": str(folder), "PORTCULLIS_POLICY__ASSURANCE": "administrators"}
    )

    assert read_shipped(MODEL, folder, assurance="administrators").assurance
    assert demand_levels(settings) == ("administrators",)
    with pytest.raises(PolicyError, match=r"assurance/base\.csv can't be read"):
        read_shipped(MODEL, folder)


def test_former_files_beside_the_table_are_refused(folder: Path) -> None:
    table = (folder / TABLE).read_text("utf-8")
    to_former_files(folder, "everybody")
    (folder / TABLE).write_text(table, "utf-8")

    with pytest.raises(
        PolicyError, match=r"everybody\.csv: the folder also has .*assurance\.table: remove one"
    ):
        read_shipped(MODEL, folder)


def test_a_folder_without_demands_is_refused(folder: Path) -> None:
    (folder / TABLE).unlink()
    with pytest.raises(PolicyError, match=r"assurance\.table can't be read"):
        read_shipped(MODEL, folder)


def test_policy_check_names_the_way_from_the_former_files_to_the_table(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "the form of development versions" not in checked(capsys, folder)
    to_former_files(folder)
    before = checked(capsys, folder)
    assert "the form of development versions" in before
    assert "`portcullis policy check --table`" in before

    printed = checked(capsys, folder, table=True)
    shutil.rmtree(folder / "assurance")
    (folder / TABLE).write_text(printed, "utf-8")

    after = checked(capsys, folder)
    assert after == before.partition("\n")[2]
    assert SHIPPED.digest in after


def test_a_level_without_a_former_file_gets_the_shipped_column_and_a_comment(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    set_demands(folder, "endpoint GET /api/role/list", "@two-factors", "base", "administrators")
    to_former_files(folder, "base", "administrators")

    printed = checked(capsys, folder, table=True)

    assert printed.startswith("# everybody: there was no file; these are the shipped demands.\n")
    row = next(row for row in printed.splitlines() if row.endswith("| endpoint GET /api/role/list"))
    assert [cell.strip() for cell in row.split("|")][:3] == [
        "@two-factors",
        "@two-factors",
        "@two-factors @service",
    ]


def test_former_files_about_different_objects_make_no_table(folder: Path) -> None:
    to_former_files(folder)
    with (folder / "assurance" / "everybody.csv").open("a") as lines:
        lines.write("p, assurance, endpoint GET /api/new, @login\n")

    with pytest.raises(PolicyError) as error:
        policy_check.demand_table(folder)

    assert error.value.faults == tuple(
        f"'endpoint GET /api/new' has no demand for the value {level} of policy.assurance"
        for level in ("base", "administrators")
    )


def test_the_cases_have_a_field_for_each_level() -> None:
    assert DemandedOf.__struct_fields__ == (*LEVELS, "objects", "others")


def test_the_cases_of_a_folder_are_those_of_the_table_and_of_the_former_files(folder: Path) -> None:
    assert [place.name for place in table_places(folder, "everybody")] == ["cases", DEMAND_CASES]
    (folder / "assurance").mkdir()
    (folder / "assurance" / "everybody.yaml").touch()
    assert [place.name for place in table_places(folder, "everybody")] == [
        "cases",
        DEMAND_CASES,
        "everybody.yaml",
    ]
    assert len(table_places(folder, "base")) == 2


CASES = """\
callers: {old: "@login"}
cases:
  - {caller: old, asks: {layer: assurance, demand: login}, outcome: allow, layer: assurance, code: "@login"}
demanded:
  - {base: login, administrators: login, everybody: login, objects: [endpoint GET /api/role/list]}
"""
DENIED = """\
  - {caller: old, asks: {layer: assurance, demand: two factors}, outcome: deny, layer: assurance,
     required: ["@two-factors", "@service"]}
demanded:
"""


@with_each(
    ("old", "new", "fault"),
    [
        ("demand: login}", "demand: logins}", ":5: no case asks about the demand 'login'"),
        ("everybody: login", "everybody: two factors", ":5: no case asks about the demand 'two factors'"),
        ("[endpoint GET /api/role/list]", "[a, b, a]", ":5: a is listed already"),
        ("objects: [", "others: [GET, GET], objects: [", ":5: GET is listed already"),
        ("objects: [", "others: [HEAD], objects: [", ":5: must be one of: GET, POST"),
        ("everybody: login, ", "", ":5: everybody: The field is required"),
        ("everybody", "everyone", ":5: everyone: There is no such field"),
        ("demand: login}", "demand: login, object: a}", ":3: a question is about an object, a request or a"),
        (
            "demanded:\n",
            DENIED.replace("two factors", "none"),
            ":4: nothing in 'demanded' has the demand 'none'",
        ),
    ],
)
def test_cases_of_demands_with_a_fault_are_refused(tmp_path: Path, old: str, new: str, fault: str) -> None:
    path = tmp_path / "demands.yaml"
    path.write_text(CASES, "utf-8")
    (table,) = read_tables([path], SHIPPED)
    assert [each.questions[0].object for each in table.asked] == ["endpoint GET /api/role/list"]

    assert old in CASES
    path.write_text(CASES.replace(old, new), "utf-8")

    with pytest.raises(PolicyError, match=re.escape(f"{path}{fault}")):
        read_tables([path], SHIPPED)


def test_only_the_layer_assurance_is_asked_about_a_demand(tmp_path: Path) -> None:
    path = tmp_path / "demands.yaml"
    text = CASES.replace('"@login"}\ncases', "null}\ncases").replace(
        "asks: {layer: assurance", "asks: {layer: grant"
    )
    path.write_text(text, "utf-8")
    with pytest.raises(PolicyError, match=r":3: the layer grant is not asked about a demand: assurance is"):
        read_tables([path], SHIPPED)


def test_a_demand_is_asked_about_the_objects_that_have_it_at_the_level_in_use(tmp_path: Path) -> None:
    path = tmp_path / "demands.yaml"
    text = CASES.replace("everybody: login", "everybody: two factors").replace("demanded:\n", DENIED)
    path.write_text(text, "utf-8")
    outcomes = {
        level: [each.case.outcome for each in table.asked]
        for level in LEVELS
        for table in read_tables([path], read_shipped(assurance=level))
    }
    assert outcomes == {"base": ["allow"], "administrators": ["allow"], "everybody": ["deny"]}


def test_others_are_the_endpoints_with_a_line_that_no_group_lists(tmp_path: Path) -> None:
    path = tmp_path / "demands.yaml"
    path.write_text(CASES.replace("objects: [", "others: [GET, DELETE], objects: ["), "utf-8")
    extension = Extension(name="shop", title="A shop", add_routes=lambda *_: None, policies=tmp_path)
    lines = (
        Rule("endpoint", "GET /api/role/list", "system:role:list"),
        Rule("endpoint", "GET /api/role/{id}", "system:role:list"),
        Rule("endpoint", "GET /api/role/{id}", "system:role:update"),
        Rule("endpoint", "POST /api/role", "system:role:create"),
        Rule("endpoint", "DELETE /api/role/{id}", "system:role:delete"),
        Rule("endpoint", "GET /api/shop", "shop:list"),
        Rule("service", "portcullis list", "system:resource:list"),
    )
    own = replace(SHIPPED, endpoints=lines, extensions=(extension,), assurance=())

    (table,) = read_tables([path], own)

    assert [each.questions[0].object for each in table.asked] == [
        "endpoint GET /api/role/list",
        "endpoint GET /api/role/{id}",
        "endpoint DELETE /api/role/{id}",
    ]
