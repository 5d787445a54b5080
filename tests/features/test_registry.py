"""Features register themselves: nothing else knows their modules, and each stands in its own folder."""

import argparse
import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

from service.cli.lazy_commands import add_commands, families
from service.features import NAMES
from service.kernel.feature import Feature, about_any, declared, named, off_by, on_by, switch_faults
from service.settings import table
from tests.support.cases import with_each
from tests.support.running import ROOT

SERVICE: Final = ROOT / "service"
FEATURES: Final = SERVICE / "features"
LOADER: Final = SERVICE / "kernel" / "feature.py"
PARTS: Final = ("tables", "dialect", "parts", "routes", "jobs", "checks", "rows")
SQL: Final = ("sqlalchemy", "psycopg", "alembic")
CONSOLE: Final = SERVICE / "console"
VIEWS: Final = sorted(CONSOLE.glob("features/*/feature.js"))


@cache  # several tests read the same files
def imported(path: Path) -> tuple[str, ...]:
    return tuple(_imported(path))


def _imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def test_each_folder_of_features_is_registered_once_under_its_own_name() -> None:
    folders = {path.parent.name for path in FEATURES.glob("*/feature.py")}
    assert sorted(NAMES) == sorted(folders)
    assert [feature.name for feature in declared()] == list(NAMES)


def test_nothing_outside_the_features_names_a_module_of_one() -> None:
    others = (path for path in SERVICE.rglob("*.py") if FEATURES not in path.parents)
    naming = [path for path in others if re.search(r"service[./]features\b", path.read_text("utf-8"))]
    assert naming == [LOADER]


@with_each("feature", declared())
def test_a_feature_imports_those_that_it_needs_and_no_others(feature: Feature) -> None:
    names = {
        name.split(".")[2]
        for path in (FEATURES / feature.name).rglob("*.py")
        for name in imported(path)
        if name.startswith("service.features.")
    }
    assert names - {feature.name} == set(feature.needs)


@with_each("feature", declared())
def test_a_feature_writes_sql_in_its_store_schema_and_migrations_alone(feature: Feature) -> None:
    folder = FEATURES / feature.name
    writing = {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*.py")
        if any(name.split(".")[0] in SQL for name in imported(path))
    }
    assert [name for name in writing if not re.match(r"(store|schema|migrations/v)\w*\.py$", name)] == []


def test_features_take_their_connections_from_the_core_which_imports_no_orm() -> None:
    names = {path: set(imported(path)) for path in FEATURES.rglob("*.py")}
    assert [path for path, each in names.items() if any("sqlalchemy.ext" in name for name in each)] == []


@with_each("feature", declared())
def test_everything_that_a_feature_names_is_there(feature: Feature) -> None:
    named = [text for name in PARTS if (text := getattr(feature, name))]
    named += [
        *feature.provides.values(),
        *feature.listens.values(),
        *(module for each in feature.commands for _, _, module in each.commands),
    ]
    assert [text for text in named if feature.part(text) is None] == []


def listed(family: str) -> list[str]:
    """Return the names that ``portcullis FAMILY`` offers, in order."""
    parser = argparse.ArgumentParser()
    (each,) = [each for each in families() if each.name == family]
    add_commands(parser, each)
    (subparsers,) = [action for action in parser._actions if action.dest == "action"]
    return [*(subparsers.choices or ())]


@with_each("feature", declared())
def test_a_command_of_a_feature_stands_behind_the_one_that_it_names(feature: Feature) -> None:
    for added in (each for each in feature.commands if each.after):
        names = [family.name for family in families()] if added.help else listed(added.family)
        first = added.family if added.help else added.commands[0][0]
        if added.after == added.family:
            assert names[0] == first
        else:
            assert names.index(first) > names.index(added.after)


@with_each("feature", declared())
def test_what_a_feature_declares_imports_nothing_but_the_kernel(feature: Feature) -> None:
    names = [name for name in imported(FEATURES / feature.name / "feature.py") if "." in name]
    assert [
        name for name in names if not name.startswith(("service.kernel.", "typing.", "collections."))
    ] == []


@with_each("feature", declared())
def test_what_a_feature_alone_obeys_are_settings_and_it_can_be_off(feature: Feature) -> None:
    assert {*feature.settings} <= {row.title for row in table()}
    assert feature.off or not feature.settings


def test_each_folder_of_the_console_has_views_of_a_feature_and_is_registered_once() -> None:
    names = [path.parent.name for path in VIEWS]
    assert sorted(path.name for path in CONSOLE.glob("features/*")) == names
    assert set(names) <= {*NAMES}
    registry = (CONSOLE / "features.js").read_text("utf-8")
    line = r'^export \{ VIEWS as (\w+) \} from "\./features/(\w+)/feature\.js";$'
    registered = re.findall(line, registry, re.MULTILINE)
    assert sorted(registered) == [(name, name) for name in names]


def test_a_view_of_a_feature_is_offered_where_the_feature_is_on_and_stands_in_the_navigation() -> None:
    listed = re.findall(r'"(/[^"]*)"', (CONSOLE / "navigation.js").read_text("utf-8"))
    texts = {path.parent.name: path.read_text("utf-8") for path in VIEWS}
    for name, text in texts.items():
        operations = re.findall(r'operation: "\w+ ([^"]+)"', text)
        assert len(operations) == len(re.findall(r"\b(?:pattern|within): ", text)), name
        assert all(named(name).owns(path) for path in operations) or not named(name).off, name
        assert set(re.findall(r'after: "([^"]+)"', text)) <= {*listed}, name


def test_what_a_feature_adds_to_a_view_of_the_core_is_asked_for_by_that_view() -> None:
    loaders = (CONSOLE / "loaders.js").read_text("utf-8")
    views = re.findall(r'\["([^"]+)", \(\) => import\("([^"]+)"\)', loaders)
    asking = {
        pattern for pattern, script in views if "show(page, parts)" in (CONSOLE / script).read_text("utf-8")
    }
    within = {
        pattern for path in VIEWS for pattern in re.findall(r'within: "([^"]+)"', path.read_text("utf-8"))
    }
    assert within == asking


def test_all_names_every_feature_with_a_switch() -> None:
    assert off_by(["all"]) == tuple(feature for feature in declared() if feature.off)
    assert {*off_by(["all"]), *on_by(["all"])} == {*declared()}
    assert off_by([]) == ()


def test_a_name_that_has_no_switch_is_refused_with_those_that_have_one() -> None:
    assert list(switch_faults(["all", "scim"])) == []
    (fault,) = switch_faults(["nothing"])
    assert fault.startswith("'nothing' is no feature that can be off: these are ")
    assert "scim" in fault


@with_each(
    ("text", "owned"),
    [
        ("GET /scim/v2/Users", True),
        ("endpoint PATCH /scim/v2/Users/{id}", True),
        ("POST /api/directory/{source}/accounts", True),
        ("POST /api/directory/nowhere/accounts", True),
        ("GET /scimitar", False),
        ("GET /api/directory/list", False),
        ("PUT /api/directory/{source}", False),
        ("GET /api/auth/oidc", False),
        ("account set-password self", False),
    ],
)
def test_a_feature_owns_its_paths_and_what_is_below_them(text: str, owned: bool) -> None:
    assert about_any(off_by(["scim"]), text) is owned
