"""The pages that explain name only what there is: architecture, clocks and faults."""

import re
import tomllib

from sqlalchemy import DateTime

from service.authz.engine.rules import LAYERS as LAYER_NAMES
from service.authz.engine.rules import object_fault
from service.records.schema import all_tables
from tests.benchmarks.fault_matrix import stores
from tests.benchmarks.faults import STORES
from tests.docs.pages import ROOT, between, rows
from tests.docs.shown_by import missing_files, missing_tests

PAGE = (ROOT / "docs" / "explanation" / "architecture.md").read_text(encoding="utf-8")
LAYERS = [name for name, _ in rows(between(PAGE, "layers"))]


def test_the_layers_have_these_parts_and_no_other() -> None:
    folders = {path.parent.name for path in (ROOT / "service").glob("*/__init__.py")}
    modules = {path.stem for path in (ROOT / "service").glob("*.py")} - {"__init__"}
    assert sorted(LAYERS) == sorted(folders | modules)


def test_the_parts_stand_in_the_order_of_the_import_contract() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (layers,) = (
        contract["layers"]
        for contract in settings["tool"]["importlinter"]["contracts"]
        if contract["type"] == "layers" and contract["containers"] == ["service"]
    )
    assert [name.strip() for layer in layers for name in layer.split("|")] == LAYERS


def test_every_file_that_the_page_names_is_there() -> None:
    named = {path for path in re.findall(r"`([\w./]+/[\w./]+)`", PAGE) if not path.startswith("/")}
    assert "service/web/requests/guard.py" in named
    assert {path for path in named if not (ROOT / path).exists()} == set()


def test_every_name_that_the_page_places_in_a_file_is_there() -> None:
    placed = re.findall(r"`(\w+)` in `([\w./]+\.py)`", PAGE)
    assert ("UserFilter", "service/records/user_list.py") in placed
    assert [pair for pair in placed if f"class {pair[0]}" not in (ROOT / pair[1]).read_text("utf-8")] == []


CLOCKS = (ROOT / "docs" / "explanation" / "clocks.md").read_text(encoding="utf-8")
KEYS = (ROOT / "docs" / "reference" / "session-store.md").read_text(encoding="utf-8")


def named_columns() -> set[str]:
    """Return the columns on the page: by table and name, or as columns ``of`` several tables."""
    column_names = set(re.findall(r"`(sys\.\w+\.\w+)`", CLOCKS))
    for row in CLOCKS.splitlines():
        for names, tables in re.findall(r"((?:`\w+`(?: and )?)+) of ((?:`sys\.\w+`(?:, )?)+)", row):
            columns = re.findall(r"`(\w+)`", names)
            column_names |= {
                f"{table}.{column}" for table in re.findall(r"`(sys\.\w+)`", tables) for column in columns
            }
    return column_names


def test_every_column_with_a_time_is_on_the_page_and_no_other() -> None:
    stored = {
        f"{table.fullname}.{column.name}"
        for table in all_tables.metadata.tables.values()
        for column in table.c
        if isinstance(column.type, DateTime)
    }
    assert len(stored) > 40
    assert named_columns() == stored


def test_every_key_of_the_session_store_is_on_the_page_and_no_other() -> None:
    listed = set(re.findall(r"^\| (`.*?`) \|", KEYS, re.MULTILINE))
    keys = {key for row in listed for key in re.findall(r"`([^`]+)`", row)}
    assert len(keys) > 15
    assert set(re.findall(r"`((?:auth|rate|policy):[^`]*)`", CLOCKS)) == keys


FAULTS = (ROOT / "docs" / "explanation" / "faults.md").read_text(encoding="utf-8")
CHECKS = (ROOT / "docs" / "guides" / "check-health.md").read_text(encoding="utf-8")
TABLES = [rows(section) for section in FAULTS.split("\n## ")[1:]]

_CODE = re.compile(r"`([^`]+)`")
_STATES = {"degraded", "read_only", "down"}


def column(number: int) -> set[str]:
    """Return what stands in backticks in a column of all tables."""
    lines = [line.removeprefix("| ") for line in FAULTS.splitlines() if line.startswith("| ")]
    return {name for line in lines for name in _CODE.findall(line.split(" | ")[number])}


def test_every_row_is_complete() -> None:
    assert all(TABLES)
    assert {len(cells) for table in TABLES for cells in table} == {7}
    assert all(all(cells) for table in TABLES for cells in table)


def test_parts_of_readiness_and_checks_are_those_of_the_service() -> None:
    _, _, others = CHECKS.partition("| Part | Vital |")
    parts = {row[0] for row in rows(f"| Part | Vital |{others}".partition("\n\n")[0])}
    assert column(2) - _STATES <= parts
    checks = {row[0] for row in rows(between(CHECKS, "checks"))}
    assert column(4) - {"doctor"} <= checks


def test_every_test_and_every_cell_that_is_named_exists() -> None:
    assert missing_files(FAULTS) == []
    assert missing_tests(FAULTS) == []
    cells = {name for name in column(6) if re.fullmatch(r"[a-z]+:[a-z-]+", name)}
    assert cells
    assert cells <= {f"{store}:{fault}" for store in STORES for fault in stores.FAULTS}


RULES = (ROOT / "docs" / "reference" / "rules.md").read_text(encoding="utf-8")


def test_each_choice_before_the_enforcer_is_asked_has_its_function_and_its_test() -> None:
    choices = rows(between(RULES, "chosen"))

    assert len(choices) > 12
    for what, function, test in choices:
        for cell in (function, test):
            (path,) = re.findall(r"[\w/]+/\w+\.py", cell)
            text = (ROOT / path).read_text(encoding="utf-8")
            for name in re.findall(r"\w+", cell.replace(path, "").replace(" in ", " ")):
                assert re.search(rf"\bdef {name}\(", text), (what, name)


def test_the_model_shows_every_layer_with_its_objects_and_who_asks() -> None:
    model = (ROOT / "model.conf").read_text(encoding="utf-8")
    table = model.partition("#   layer       objects")[2].partition("\n#\n")[0]

    assert re.findall(r"^#   ([a-z]+)  ", table, flags=re.MULTILINE) == list(LAYER_NAMES)
    for layer in LAYER_NAMES:
        (first,) = re.findall(rf"^#   {layer} +(.*?)   ", table, flags=re.MULTILINE)
        for name in first.split(", "):
            assert object_fault(layer, name) is None
