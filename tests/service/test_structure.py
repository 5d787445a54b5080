"""The house stands as its plan says: imports point down, and no file outgrows a reader."""

import ast
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.support.running import ROOT

LONGEST = 600  # lines; `dev.py check` names files above 400
SERVICE = ROOT / "service"


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    """Hold the contracts of pyproject.toml against the package ``service`` in ``folder``."""
    program = Path(sys.executable).with_name("lint-imports")
    options = ["--no-logo", "--no-cache", "--config", str(ROOT / "pyproject.toml")]
    environment = os.environ | {"PYTHONPATH": str(folder)}
    return subprocess.run(
        [str(program), *options], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def test_imports_point_down() -> None:
    linted = lint_imports(ROOT)
    assert linted.returncode == 0, linted.stdout


def test_an_import_that_points_up_is_noticed(tmp_path: Path) -> None:
    shutil.copytree(SERVICE, tmp_path / "service", ignore=shutil.ignore_patterns("__pycache__"))
    with (tmp_path / "service" / "kernel" / "clock.py").open("a") as lowest:
        lowest.write("\nfrom service.web import marks\n")
    linted = lint_imports(tmp_path)
    assert linted.returncode == 1
    assert "Imports point down BROKEN" in linted.stdout


def statements_of(folder: Path) -> dict[Path, list[ast.AST]]:
    """Return the imports and assignments of each Python file in ``folder``."""
    kinds = (ast.Import, ast.ImportFrom, ast.Assign)
    return {
        path: [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, kinds)]
        for path in sorted(folder.rglob("*.py"))
    }


@pytest.fixture(scope="module")
def statements() -> dict[Path, list[ast.AST]]:
    return statements_of(SERVICE)


def imports_of(nodes: list[ast.AST], modules: Mapping[str, Path]) -> Iterator[Path]:
    """Yield the files that are imported, those for type checkers only included."""
    for node in nodes:
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                named = modules.get(f"{node.module}.{alias.name}") or modules.get(str(node.module))
                if named is not None:
                    yield named
        elif isinstance(node, ast.Import):
            yield from (modules[alias.name] for alias in node.names if alias.name in modules)


def circles(folder: Path, statements: Mapping[Path, list[ast.AST]]) -> list[list[Path]]:
    """Return the groups of Python files in ``folder`` that import one another."""
    modules = {
        ".".join(path.relative_to(folder.parent).with_suffix("").parts).removesuffix(".__init__"): path
        for path in statements
    }
    return tied({path: set(imports_of(nodes, modules)) - {path} for path, nodes in statements.items()})


def tied(arrows: Mapping[Path, set[Path]]) -> list[list[Path]]:
    """Return the groups of files that import one another, directly or through others."""
    arrows = _without_ends(arrows)
    reached = {path: _reached(path, arrows) for path in arrows}
    groups = {frozenset(other for other in reached[path] if path in reached[other]) for path in arrows}
    return [sorted(group) for group in groups if group]


def _without_ends(arrows: Mapping[Path, set[Path]]) -> Mapping[Path, set[Path]]:
    """Take away files that import none of the others, again and again: they are in no group."""
    while True:
        kept = {path: others & arrows.keys() for path, others in arrows.items()}
        kept = {path: others for path, others in kept.items() if others}
        if len(kept) == len(arrows):
            return kept
        arrows = kept


def _reached(start: Path, arrows: Mapping[Path, set[Path]]) -> set[Path]:
    reached: set[Path] = set()
    ahead = [start]
    while ahead:
        new = arrows[ahead.pop()] - reached
        reached |= new
        ahead += new
    return reached


def test_no_files_import_one_another_in_a_circle(statements: dict[Path, list[ast.AST]]) -> None:
    assert circles(SERVICE, statements) == []


def test_a_circle_that_only_a_type_checker_sees_is_noticed(tmp_path: Path) -> None:
    shutil.copytree(SERVICE / "kernel", tmp_path / "service" / "kernel")
    clock = tmp_path / "service" / "kernel" / "clock.py"
    with clock.open("a") as lower:
        lower.write("\nif TYPE_CHECKING:\n    from service.kernel.origin import Origin\n")
    with (origin := clock.with_name("origin.py")).open("a") as upper:
        upper.write("\nfrom service.kernel import clock\n")
    assert circles(tmp_path / "service", statements_of(tmp_path / "service")) == [[clock, origin]]


def test_no_file_is_too_long_to_be_read_at_once() -> None:
    lengths = {path: len(path.read_text().splitlines()) for path in SERVICE.rglob("*.py")}
    assert len(lengths) > 50
    assert {str(path): length for path, length in lengths.items() if length > LONGEST} == {}


def test_every_package_says_what_it_owns() -> None:
    for package in {path.parent for path in SERVICE.rglob("*.py")}:
        assert (package / "__init__.py").read_text().startswith('"""'), package


def test_one_assignment_gives_values_to_no_more_than_two_names(
    statements: dict[Path, list[ast.AST]],
) -> None:
    """What has nothing in common must not share a line, to stay below the lint's number of statements."""
    packed = [
        f"{path.relative_to(SERVICE)}:{node.lineno}"
        for path, nodes in statements.items()
        if path != SERVICE / "errors.py"  # status, code and title of each refusal
        for node in nodes
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple)
        for target in node.targets
        if isinstance(target, ast.Tuple) and len(target.elts) > 2
    ]
    assert packed == []
