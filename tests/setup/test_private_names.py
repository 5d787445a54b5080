"""Private names of other packages that the service relies on: any release may take them away."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from tests.support.running import ROOT

SERVICE = ROOT / "service"

OVERRIDDEN = {
    "casbin": {"_get_expression"},
    "falcon": {"_asgi_headers", "_receive", "_require_coroutine_responders"},
    "redis": {"_connect", "_writer"},
    "uvicorn": {"_start_asgi_task"},
}
"""What our subclasses override or read of the private parts of their base classes, by package."""

READ = {"_ActionsContainer": "argparse", "_reader": "redis", "_writer": "redis"}
"""What is read or set of objects of others, and whose it is."""

PUBLIC = {"_asdict", "_fields", "_make", "_mapping", "_replace"}
"""Names that begin with an underscore so that they don't collide with fields, and are documented."""

BOUNDED = {"casbin": "pycasbin", "falcon": "falcon", "redis": "redis", "uvicorn": "uvicorn"}
"""The distributions that these packages come from."""


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
            names[package] |= {name for name in vars(base) if private(name)}
            names[package] |= set(re.findall(r"\bself\.(_[a-z]\w*)", inspect.getsource(base)))
    return names


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
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
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
