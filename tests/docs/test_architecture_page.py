"""docs/explanation/architecture.md shows the house as it stands."""

from __future__ import annotations

import re
import tomllib

from tests.docs.pages import ROOT, between, rows

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
