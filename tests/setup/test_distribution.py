"""Nobody is told to install what is not ours: the name of the distribution, wherever one is installed."""

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import service
from service.kernel.about import DISTRIBUTION
from tests.support.cases import with_each
from tests.support.running import ROOT


def project_of(folder: Path) -> dict[str, Any]:
    project: dict[str, Any] = tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))["project"]
    return project


_PROJECT: Final = project_of(ROOT)
_CLIENT: Final = ROOT / "service" / "features" / "decisions" / "client"
_LOCKED: Final = tomllib.loads((ROOT / "uv.lock").read_text("utf-8"))["package"]
# What comes behind these words, up to the end of the command: options, and what is installed.
_INSTALLS: Final = re.compile(
    r"(?:\bpip3?|\bpipx|\buv(?: pip| tool)?) (?:install|add|download)\b([^\n;&|`#)]*)"
)
_EXTRA: Final = re.compile(r"\b([A-Za-z][\w.-]*)\[([a-z]+)\]")
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9._-]*")
_OTHERS: Final = frozenset({"uv", "pycasbin", "casbin", "pre-commit"})
"""What dev.py and the check of the start install, and a program that contributors may use."""


def pages() -> Iterator[Path]:
    """Yield what people read or run: pages, files for operators, the messages of the program."""
    yield from (ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "dev.py"))
    for folder, pattern in (("docs", "*.md"), ("deploy", "*"), ("service", "*.py"), ("policies", "*.md")):
        yield from (path for path in sorted((ROOT / folder).rglob(pattern)) if path.is_file())


def installed_by(text: str) -> Iterator[str]:
    """Yield the names of the distributions that commands in ``text`` install from an index."""
    for command in _INSTALLS.findall(text):
        for word in command.replace("'", " ").replace('"', " ").split():
            match = _NAME.match(word)
            if match and not word.startswith(("-", ".", "/", "$", "{")):
                yield re.sub(r"[-_.]+", "-", match[0]).lower()


def test_the_name_and_the_version_are_the_same_wherever_they_stand() -> None:
    (locked,) = (package for package in _LOCKED if package["source"] == {"editable": "."})
    assert {_PROJECT["name"], locked["name"]} == {DISTRIBUTION}
    assert {_PROJECT["version"], locked["version"]} == {service.__version__}


def test_the_client_is_of_the_same_version_licence_and_python() -> None:
    client = project_of(_CLIENT)
    assert client["name"] == f"{DISTRIBUTION}-client"
    for same in ("version", "license", "requires-python", "authors"):
        assert client[same] == _PROJECT[same], same
    assert (_CLIENT / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_the_client_for_browsers_is_of_the_same_version_and_licence() -> None:
    package = json.loads((ROOT / "service" / "console" / "client" / "package.json").read_text("utf-8"))
    assert package["name"] == f"{DISTRIBUTION}-browser"
    assert package["license"] == _PROJECT["license"]
    assert re.sub(r"-dev\.", ".dev", package["version"]) == _PROJECT["version"]  # npm has no .dev0
    assert "dependencies" not in package


def test_nothing_is_installed_by_a_name_that_is_not_ours() -> None:
    known = _OTHERS | {package["name"] for package in _LOCKED}
    ours = {
        f"{project['name']}[{extra}]"
        for project in (_PROJECT, project_of(_CLIENT))
        for extra in project["optional-dependencies"]
    }
    strangers, named = [], set()
    for path in pages():
        text = path.read_text("utf-8", errors="replace")
        strangers += [(path.name, name) for name in installed_by(text) if name not in known]
        extras = {f"{name}[{extra}]" for name, extra in _EXTRA.findall(text) if name.startswith("portcullis")}
        strangers += [(path.name, stranger) for stranger in extras - ours]
        named |= extras
    assert strangers == []
    assert named == ours


@with_each(
    ("text", "names"),
    [
        ("pip install 'portcullis[tracing]'", ["portcullis"]),
        ("python3 -m pip install --quiet Portcullis_Tools==1.0 joserfc", ["portcullis-tools", "joserfc"]),
        ("uv pip install --python x portcullis", ["x", "portcullis"]),
        ("run `uv add portcullis`, then", ["portcullis"]),
        ("pip install '.[tracing]'  # portcullis", []),
    ],
)
def test_such_commands_are_found(text: str, names: list[str]) -> None:
    assert list(installed_by(text)) == names
