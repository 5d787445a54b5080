"""Names say what a thing is, and docstrings say what a function gives."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.support.cases import with_each
from tests.support.running import ROOT

BANNED: Final = frozenset(
    [
        *("one", "found", "wanted", "told", "_told", "tells", "said", "_became", "_come", "_lasts"),
        *("ask_anew", "ask_of", "asked_of", "asked_plainly", "check_meant", "gives_way_in", "given_until"),
        *(
            "gone_user",
            "knows_somebody",
            "look_soon",
            "once_each",
            "own_user",
            "paths_beside",
            "require_still",
        ),
        *(
            "require_not_given",
            "roles_beside",
            "roles_giving",
            "seal_anew",
            "tell_each",
            "until_gone",
            "until_of",
        ),
    ]
)
"""Names that fit every value, or have to be guessed: say ``user``, ``message``, ``expiry`` or ``notify``."""
_SPELLED: Final = re.compile(rf"\b(?:{'|'.join(sorted(BANNED))})\b")
_PROSE: Final = re.compile(
    r'"""(?:\\.|[^\\])*?"""|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|#[^\n]*', re.DOTALL
)
"""Texts and comments: a source that spells no banned name elsewhere need not be parsed."""
OPENINGS: Final = re.compile(r"(What (it|this|that) (does|is|says|has)|What is done|Does what)\b")
"""Beginnings of docstrings that tell nothing: "Return the codes of a role." instead of "What it has."."""

_PLAIN: Final = 3  # statements
_UNDOCUMENTED: Final = re.compile(
    r"^ *(?:async )?def (?!_)\w+\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)[^\n]*:\n(?! *r?\"\"\")", re.MULTILINE
)
"""Matches a public function without a docstring: a source without one need not be parsed."""


def names_in(source: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the name of everything that ``source`` gives a name."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Name(id=name, ctx=ast.Store()):
                yield node.lineno, name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield node.lineno, name
            case ast.arg(arg=name):
                yield node.lineno, name
            case ast.alias(asname=str(name)) | ast.ExceptHandler(name=str(name)):
                yield node.lineno, name
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield node.lineno, name


def docstrings_in(source: str) -> Iterator[str]:
    """Yield the docstrings of ``source``: of the module, its classes and its functions."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield ast.get_docstring(node) or ""


def banned_in(source: str) -> list[tuple[int, str]]:
    """Return the banned names that ``source`` gives to things, with their lines."""
    if not _SPELLED.search(_PROSE.sub("", source)):
        return []
    return [(line, name) for line, name in names_in(source) if name in BANNED]


def empty_docstrings_in(source: str) -> list[str]:
    """Return the docstrings of ``source`` that tell nothing; most sources spell no such beginning at all."""
    if not OPENINGS.search(source):
        return []
    return [text for text in docstrings_in(source) if OPENINGS.match(text)]


def undocumented_in(source: str) -> list[str]:
    """Return the public functions of ``source`` that do more than their names say, without a docstring.

    A name says enough of a function of at most three statements that raises nothing. A function without a
    body, such as one of a protocol, has only its docstring.
    """
    if not _UNDOCUMENTED.search(source):
        return []
    return [
        node.name
        for node in _functions_in(ast.parse(source))
        if ast.get_docstring(node) is None
        and not any(isinstance(each, ast.Name) and each.id == "overload" for each in node.decorator_list)
        and not _is_plain(node.body)
    ]


def _functions_in(tree: ast.Module | ast.ClassDef) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in tree.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.name[0] != "_":
            if isinstance(node, ast.ClassDef):
                yield from _functions_in(node)
            else:
                yield node


def _is_plain(body: list[ast.stmt]) -> bool:
    if isinstance(body[0], ast.Expr) and ast.unparse(body[0]) == "...":
        return False
    nodes = [node for statement in body for node in ast.walk(statement)]
    statements = sum(isinstance(node, ast.stmt) for node in nodes)
    return statements <= _PLAIN and not any(isinstance(node, ast.Raise) for node in nodes)


def sources(*folders: str) -> Iterator[tuple[Path, str]]:
    """Yield the Python files of these folders of the checkout with their texts."""
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            yield path.relative_to(ROOT), path.read_text(encoding="utf-8")


def test_nothing_has_a_name_that_says_nothing() -> None:
    wrong = {
        path: names for path, source in sources("service", "tests", "docs") if (names := banned_in(source))
    }
    assert wrong == {}


@with_each(
    "source",
    [
        "one = 1",
        "for found in (): pass",
        "def f(wanted): pass",
        "lambda told: 0",
        "[0 for said in ()]",
        "if (one := 1): pass",
        "class A:\n    found: int",
        "def told(): pass",
        "def given_until(): pass",
        "import os as one",
        "with open('x') as said: pass",
        "try: pass\nexcept OSError as found: pass",
        "match 1:\n    case [one, *found]: pass",
    ],
)
def test_a_banned_name_is_noticed_wherever_it_is_given(source: str) -> None:
    assert banned_in(source)
    assert not banned_in(re.sub(rf"\b(?:{'|'.join(BANNED)})\b", "user", source))


def test_no_docstring_begins_with_words_that_tell_nothing() -> None:
    wrong = {
        path: texts
        for path, source in sources("service", "tests", "docs")
        if (texts := empty_docstrings_in(source))
    }
    assert wrong == {}


def test_a_docstring_that_tells_nothing_is_noticed() -> None:
    source = 'def edit():\n    """What it does."""'
    assert empty_docstrings_in(source) == ["What it does."]


def test_a_public_function_that_does_more_than_its_name_says_has_a_docstring() -> None:
    wrong = {
        str(path): names
        for path, source in sources("service")
        if path.parent.name not in ("versions", "migrations")  # the docstring of the module says everything
        and (names := undocumented_in(source))
    }
    assert wrong == {}


def test_a_missing_docstring_is_noticed() -> None:
    short, long = "    return a\n", "    a += b\n" * 4
    assert undocumented_in(f"def add(a, b):\n{long}") == ["add"]
    assert undocumented_in("def add(a):\n    raise ValueError\n") == ["add"]
    assert undocumented_in("class Add:\n    async def add(self) -> int:\n        ...\n") == ["add"]
    assert undocumented_in(f"def add(a, b):\n{short}") == undocumented_in(f"def _add(a, b):\n{long}") == []
    assert undocumented_in(f'def add(a, b):\n    """Return the sum."""\n{long}') == []
