"""Whatever tells people to set something names a setting that there is, and the variable that others set."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from service.settings import table
from service.settings.event_kinds import EVENT_KINDS
from service.settings.loading import OUTSIDE_THE_TABLE, REMOVED
from service.settings.table import PREFIX
from tests.support.running import ROOT

TITLES: Final = {row.title for row in table()}
VARIABLES: Final = {name for row in table() for name in row.variables + row.files} | OUTSIDE_THE_TABLE
SECOND: Final = {row.variables[1]: row.variables[0] for row in table() if row.env}
"""Variables of settings that have a shorter one, by which pages and deployments set them."""

_VARIABLE: Final = re.compile(rf"{PREFIX}[A-Z]+__[A-Z0-9_]*[A-Z0-9]")
_SECTIONS: Final = "|".join(sorted({row.section for row in table()}))
_TITLE: Final = re.compile(rf"(?<![\w./:-])(?:{_SECTIONS})\.[a-z_]*[a-z](?![\w(/…]|_\{{)")
_FILES: Final = {
    "features.md",
    "features.py",
    "policy.csv",
    "log.json",
    "database.dump",
    "policy.read",
}  # the last is the code of a resource
_MADE_UP: Final = {
    # misspelt on purpose
    "PORTCULLIS_AUTH__MAX_DEVICE": "docs/decisions/0030-keep-own-code-where-libraries-are-laxer.md",
    "PORTCULLIS_THROTTLE__UPLOAD_ACCOUNT": "CONTRIBUTING.md",  # the recipe of a new setting
}


def sentences(source: str) -> Iterator[str]:
    """Yield the texts of a module but its docstrings; ``{}`` stands for what is filled in."""
    nodes = list(ast.walk(ast.parse(source)))
    parts = {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    docstrings = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            values = (part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
            yield "".join(map(str, values))
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in parts | docstrings
        ):
            yield node.value


def pages() -> Iterator[Path]:
    yield from (ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md"))
    for folder, pattern in (("docs", "*.md"), ("deploy", "*"), ("policies", "*.md")):
        yield from (path for path in sorted((ROOT / folder).rglob(pattern)) if path.is_file())


def test_each_setting_that_a_message_names_is_one() -> None:
    wrong, named = [], set()
    for path in sorted((ROOT / "service").rglob("*.py")):
        source = path.read_text("utf-8")
        if not (_TITLE.search(source) or _VARIABLE.search(source) or any(map(source.count, SECOND))):
            continue
        for text in sentences(source):
            if text in REMOVED:  # by itself, as in the table of what to do about it
                continue
            names = set(_TITLE.findall(text)) - _FILES - {*EVENT_KINDS}
            named |= names
            wrong += [(path.name, name) for name in names - TITLES]
            wrong += [(path.name, variable) for variable in set(_VARIABLE.findall(text)) - VARIABLES]
            wrong += [(path.name, variable) for variable in SECOND if variable in text]
    assert wrong == []
    assert not REMOVED.keys() & TITLES
    assert len(named) > 40  # else the pattern finds nothing any more


def test_each_variable_that_a_page_or_a_file_of_a_deployment_names_is_one() -> None:
    wrong, named = [], set()
    for path in pages():
        place = str(path.relative_to(ROOT))
        variables = set(_VARIABLE.findall(path.read_text("utf-8", errors="replace")))
        named |= variables
        wrong += [(place, variable) for variable in variables - VARIABLES if _MADE_UP.get(variable) != place]
        if place != "docs/reference/settings.md":  # which shows both
            wrong += [(place, variable) for variable in variables & SECOND.keys()]
    assert wrong == []
    assert len(named) > 20
