"""The packages that are installed: whole, and relied on within bounds."""

import ast
import importlib
import importlib.metadata
import importlib.util
import inspect
import re
import shutil
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

from service.installation import InstallationError, check_installation
from tests.support.running import ROOT


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder with a copy of the installed pycasbin."""
    distribution = importlib.metadata.distribution("pycasbin")
    for file in distribution.files or []:
        if file.parts[0] == "casbin" or file.parts[0].endswith(".dist-info"):
            target = tmp_path / file
            target.parent.mkdir(parents=True, exist_ok=True)
            if Path(str(file.locate())).exists():
                shutil.copyfile(str(file.locate()), target)
    return tmp_path


def test_the_installation_that_runs_these_tests_is_whole() -> None:
    check_installation()


def test_an_untouched_copy_is_whole(site: Path) -> None:
    check_installation([str(site)])


def test_the_predecessor_beside_an_intact_pycasbin_is_no_fault(site: Path) -> None:
    leave_traces_of_the_predecessor(site)
    check_installation([str(site)])


def test_an_overwritten_file_is_refused_with_the_command_that_mends_it(
    site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    leave_traces_of_the_predecessor(site)
    core = site / "casbin" / "core_enforcer.py"
    core.write_text(core.read_text() + "\n")
    monkeypatch.setattr(sys, "executable", "/opt/a place/python")
    version = importlib.metadata.version("pycasbin")
    with pytest.raises(InstallationError) as refusal:
        check_installation([str(site)])
    text = str(refusal.value)
    assert text.startswith("1 of ")
    assert f"files of pycasbin {version} are missing or not its own, casbin/core_enforcer.py for one" in text
    pip = f"'/opt/a place/python' -m pip install --force-reinstall --no-deps pycasbin=={version}"
    uv = f"uv pip install --python '/opt/a place/python' --reinstall --no-deps pycasbin=={version}"
    assert text.splitlines()[-1].strip() == (pip if importlib.util.find_spec("pip") else uv)


def test_files_that_went_with_the_predecessor_are_missed(site: Path) -> None:
    shutil.rmtree(site / "casbin")
    with pytest.raises(InstallationError, match=r"^(\d+) of \1 files"):
        check_installation([str(site)])


def test_a_single_missing_file_is_missed(site: Path) -> None:
    (site / "casbin" / "util" / "builtin_operators.py").unlink()
    with pytest.raises(InstallationError, match=r"^1 of .* casbin/util/builtin_operators\.py for one"):
        check_installation([str(site)])


def test_the_predecessor_alone_is_refused(tmp_path: Path) -> None:
    leave_traces_of_the_predecessor(tmp_path)
    with pytest.raises(InstallationError, match="pycasbin is not installed"):
        check_installation([str(tmp_path)])


def test_an_install_without_a_list_of_files_is_refused(site: Path) -> None:
    next(site.glob("pycasbin-*.dist-info/RECORD")).unlink()
    with pytest.raises(InstallationError, match="no list of its files"):
        check_installation([str(site)])


def test_a_module_that_hides_the_installed_one_is_refused(
    site: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "casbin").mkdir()
    (elsewhere / "casbin" / "__init__.py").touch()
    with pytest.raises(InstallationError, match=r"elsewhere\d+/casbin/__init__\.py, not .* of pycasbin"):
        check_installation([str(elsewhere), str(site)])


def leave_traces_of_the_predecessor(site: Path) -> None:
    information = site / "casbin-1.43.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: casbin\nVersion: 1.43.0\n")
    (information / "RECORD").write_text("casbin/core_enforcer.py,sha256=AAAA,1\n")


SERVICE = ROOT / "service"

OVERRIDDEN: dict[str, set[str]] = {
    "casbin": {"_get_expression"},
    "falcon": {"_asgi_headers", "_receive"},
    "redis": {"_connect", "_writer"},
    "uvicorn": set(),
}
"""What our subclasses override or read of the private parts of their base classes, by package."""

READ = {"_ActionsContainer": "argparse", "_asgi_headers": "falcon", "_reader": "redis", "_writer": "redis"}
"""What is read or set of objects of others, and whose it is."""

PUBLIC = {"_asdict", "_fields", "_make", "_mapping", "_replace"}
"""Names that begin with an underscore so that they don't collide with fields, and are documented."""

BOUNDED = {"casbin": "pycasbin", "falcon": "falcon", "redis": "redis", "uvicorn": "uvicorn"}
"""The distributions that these packages come from."""


OF_OTHERS = re.compile(r"(?<!\bself)(?<!\bcls)\s*\.\s*_[a-zA-Z]")
"""Matches where a private name may be read of another object: a file without a match need not be parsed."""


def private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def modules() -> Iterator[tuple[ModuleType, ast.Module]]:
    """Yield the modules that import one of the packages, with their trees."""
    for path in SERVICE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if re.search(rf"^\s*(import|from) ({'|'.join(BOUNDED)})\b", text, re.MULTILINE):
            name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
            yield importlib.import_module(name), ast.parse(text)


def names_of_bases(cls: type) -> dict[str, set[str]]:
    """Return the private names of the base classes of ``cls`` in each package."""
    names: dict[str, set[str]] = defaultdict(set)
    for base in cls.__mro__[1:]:
        package = base.__module__.partition(".")[0]
        if package in BOUNDED:
            names[package] |= private_names_of(base)
    return names


@cache
def private_names_of(base: type) -> frozenset[str]:
    used = re.findall(r"\bself\.(_[a-z]\w*)", source_of(base))
    return frozenset({name for name in vars(base) if private(name)}.union(used))


def source_of(cls: type) -> str:
    """Return the source of a class; ``inspect.getsource`` would parse its file for each class again."""
    file = inspect.getsourcefile(cls)
    assert file is not None
    lines, places = classes_of(Path(file))
    first, last = places[cls.__name__]
    return "\n".join(lines[first - 1 : last])


@cache
def classes_of(file: Path) -> tuple[list[str], dict[str, tuple[int, int]]]:
    """Return the lines of a file, and the first and last line of each of its classes."""
    text = file.read_text(encoding="utf-8")
    classes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ClassDef)]
    return text.splitlines(), {node.name: (node.lineno, node.end_lineno or node.lineno) for node in classes}


def test_the_private_names_of_base_classes_are_those_of_the_list() -> None:
    overridden: dict[str, set[str]] = {package: set() for package in BOUNDED}
    for module, tree in modules():
        for node in ast.walk(tree):
            if not isinstance(node, ast.ClassDef) or not isinstance(vars(module).get(node.name), type):
                continue
            named = {
                member.name
                for member in node.body
                if isinstance(member, ast.FunctionDef | ast.AsyncFunctionDef)
            }
            named |= {part.attr for part in ast.walk(node) if isinstance(part, ast.Attribute)}
            for package, names in names_of_bases(vars(module)[node.name]).items():
                overridden[package] |= {name for name in named & names if private(name)}
    assert overridden == OVERRIDDEN


def test_the_private_names_of_objects_of_others_are_those_of_the_list() -> None:
    assert {name for path in SERVICE.rglob("*.py") for name in read_of_others(path)} == set(READ)


def read_of_others(path: Path) -> set[str]:
    """Return the private names that a file reads of objects whose class is not in the file."""
    own: set[str] = set(PUBLIC)
    read: set[str] = set()
    text = path.read_text(encoding="utf-8")
    if not OF_OTHERS.search(text):
        return read
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            own.add(node.name)
        elif isinstance(node, ast.Attribute) and private(node.attr):
            is_own = isinstance(node.value, ast.Name) and node.value.id in {"self", "cls"}
            (own if is_own else read).add(node.attr)
        elif isinstance(node, ast.AnnAssign | ast.Assign):
            targets = [node.target] if isinstance(node, ast.AnnAssign) else node.targets
            own |= {target.id for target in targets if isinstance(target, ast.Name)}
    return read - own


def test_what_is_relied_on_has_an_upper_bound() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    bounds = {re.split(r"[<>=\[;]", requirement)[0]: requirement for requirement in project["dependencies"]}
    assert [package for package in BOUNDED.values() if "<" not in bounds[package]] == []
