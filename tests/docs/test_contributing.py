"""The recipes of CONTRIBUTING.md work: each is applied to a copy of the checkout."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from service.features.embedded.stores import EmbeddedStores
from service.records.installation.migrate import migrate
from tests.docs.pages import ROOT
from tests.support.databases import database

PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
RECIPES = PAGE.partition("\n## Recipes\n")[2]
CHANGES = re.findall(r"^```diff\n\+\+\+ (\S+)\n(.*?)^```", RECIPES, re.DOTALL | re.MULTILINE)
PAGES = (
    "tests/docs/test_reference_pages.py",
    "tests/docs/test_trust_pages.py",
    "tests/jobs/test_jobs.py::test_the_page_names_all_jobs_with_their_intervals_and_bounds",
)
"""The tests of pages that a recipe changes."""


def numbered(root: Path, text: str) -> str:
    """Return ``text`` with the numbers of the newest migration below ``root`` and of the one that follows."""
    newest = max(int(path.name[1:5]) for path in (root / "service").glob("**/migrations/**/v[0-9]*.py"))
    return text.replace("NNNN", f"{newest + 1:04}").replace("MMMM", f"{newest:04}")


def apply(root: Path, name: str, change: str) -> Path:
    """Make ``change`` in the file ``name`` below ``root``: behind what ``@@`` names, or as a new file."""
    path = root / numbered(root, name)
    if not change.startswith("@@"):
        assert not path.exists()
        path.parent.mkdir(parents=True, exist_ok=True)
        text = "".join(line[1:] or "\n" for line in change.splitlines(keepends=True))
        path.write_text(numbered(root, text))
        return path
    text = path.read_text()
    for hunk in re.split(r"^@@ ", change, flags=re.MULTILINE)[1:]:
        anchor, *lines = hunk.splitlines(keepends=True)
        before = "".join(line[1:] or "\n" for line in lines if not line.startswith("+"))
        after = "".join(line[1:] or "\n" for line in lines if not line.startswith("-"))
        place = text.index(before, text.index("\n", text.index(anchor.rstrip("\n"))) + 1)
        text = text[:place] + after + text[place + len(before) :]
    path.write_text(text)
    return path


def run(root: Path, *arguments: str) -> str:
    """Run Python in ``root`` with the modules there; return what it printed, and fail when it fails."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    ended = subprocess.run(
        [sys.executable, "-P", *arguments],
        cwd=root,
        env=environment | {"PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Path]]:
    """A copy of the checkout with all recipes applied, and the files that they changed."""
    root = tmp_path_factory.mktemp("recipes")
    for name in ("service", "policies", "docs", "tests", "deploy"):
        shutil.copytree(ROOT / name, root / name)
    for name in ("model.conf", "pyproject.toml", "uv.lock", "dev.py", "CHANGELOG.md", ".editorconfig"):
        shutil.copy2(ROOT / name, root / name)
    (root / ".tools").mkdir()  # npm installs nothing below a link
    for tool in (ROOT / ".tools").glob("*"):
        (root / ".tools" / tool.name).symlink_to(tool)
    paths = [apply(root, name, change) for name, change in CHANGES]
    run(root, "-m", "tests.console.declarations")
    return root, paths


def test_each_recipe_is_there() -> None:
    assert re.findall(r"^### (.+)$", RECIPES, re.MULTILINE) == [
        "A field",
        "A migration",
        "An endpoint with a permission",
        "A policy case",
        "A setting",
        "A language",
        "A problem code",
        "A feature",
    ]
    assert RECIPES.count("```diff") == len(CHANGES)


@pytest.mark.extended
def test_what_the_recipes_make_is_well_formed(changed: tuple[Path, list[Path]]) -> None:
    root, paths = changed
    sources = sorted({str(path) for path in paths if path.suffix == ".py"})
    run(root, "-m", "ruff", "check", "--no-cache", *sources)
    run(root, "-m", "ruff", "format", "--no-cache", "--check", *sources)


_TRIAL = """
import contextlib, io, json, os, sys, traceback
import pytest
from service.__main__ import main
from tests.contract.__main__ import main as contract

def said(arguments, run=main):
    # Returns the status, and what was written to standard output and standard error.
    written = io.StringIO()
    with contextlib.redirect_stdout(written), contextlib.redirect_stderr(written):
        status = run(arguments)
    return int(status), written.getvalue()

def migrated(url):
    # Migrates the database of the checkout; returns why it is not what the schema describes, "" if it is.
    from tests.records.test_migrations import test_a_new_database_is_what_the_schema_describes as claim
    try:
        claim(url)
    except Exception:
        return traceback.format_exc()
    return ""

url, *pages = sys.argv[1:]
found = {"consistent": said(["policy", "check"])}
found["covered"] = said(["policy", "test", "--coverage"])
os.environ["PORTCULLIS_POLICY__FOLDER"] = "broken"
found["inconsistent"] = said(["policy", "check"])
del os.environ["PORTCULLIS_POLICY__FOLDER"]
found["migrated"] = migrated(url)
found["pages"] = said(["-q", "-p", "no:cacheprovider", *pages], pytest.main)
found["contract"] = said([], contract)
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def trial(changed: tuple[Path, list[Path]], stores: EmbeddedStores) -> dict[str, Any]:
    """What commands, tests of pages, types and a migration of the copy say, asked in one process."""
    root, _ = changed
    (root / "broken").mkdir()
    for name in ("base.csv", "endpoints.csv", "accounts.csv", "assurance.table"):
        text = (root / "policies" / name).read_text()
        (root / "broken" / name).write_text(text.replace("system:role:users", "system:role:list"))
    with database(stores) as url:
        migrate(url, ())  # to the schema of this checkout, which the copy then migrates further
        outcomes: dict[str, Any] = json.loads(run(root, "-c", _TRIAL, url, *PAGES))
    return outcomes


@pytest.mark.extended
def test_a_start_finds_the_endpoint_of_the_recipe_consistent(trial: dict[str, Any]) -> None:
    assert trial["consistent"][0] == 0, trial["consistent"]
    status, output = trial["inconsistent"]
    assert status != 0
    assert "/api/role/{id}/users" in output


@pytest.mark.extended
def test_pages_and_decision_tables_hold_after_the_recipes(trial: dict[str, Any]) -> None:
    for name in ("pages", "covered"):
        status, output = trial[name]
        assert status == 0, output
    assert " passed" in trial["pages"][1]


@pytest.mark.extended
def test_the_case_of_the_recipe_lets_no_mutant_survive(changed: tuple[Path, list[Path]]) -> None:
    run(changed[0], "-m", "service", "policy", "test", "--mutate")


@pytest.mark.extended
def test_the_field_of_the_recipe_is_checked_audited_and_kept_by_whom_does_not_know_it(
    changed: tuple[Path, list[Path]],
) -> None:
    output = run(
        changed[0], "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/docs/recipe_of_a_field.py"
    )
    assert " passed" in output


@pytest.mark.extended
def test_the_feature_of_the_recipe_counts_is_switched_off_and_has_its_rows_when_it_is_on_again(
    changed: tuple[Path, list[Path]],
) -> None:
    arguments = "tests/docs/recipe_of_a_feature.py", "tests/features/test_registry.py"
    output = run(changed[0], "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", *arguments)
    assert " passed" in output


@pytest.mark.extended
def test_no_recipe_breaks_clients_of_the_last_release(trial: dict[str, Any]) -> None:
    assert trial["contract"] == [0, ""]


@pytest.mark.extended
def test_the_copy_passes_all_checks(changed: tuple[Path, list[Path]]) -> None:
    root, _ = changed
    (root / ".venv").symlink_to(ROOT / ".venv")
    run(root, "dev.py", "check")


@pytest.mark.extended
def test_the_migration_of_the_recipe_makes_what_the_schema_describes(trial: dict[str, Any]) -> None:
    assert trial["migrated"] == ""


def test_every_file_that_the_page_names_is_there() -> None:
    outside = re.sub(r"^```.*?^```", "", PAGE, flags=re.DOTALL | re.MULTILINE)
    code = " ".join(re.findall(r"`([^`]+)`", outside))
    named = set(re.findall(r"(?<![\w./])[\w.]+/[\w./]+", code))
    paths = {name for name in named if not name.startswith((".venv", "api/"))}
    assert "service/app/" in paths
    assert {name for name in paths if not (ROOT / name).exists()} == set()
