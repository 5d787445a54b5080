"""Python 3.11.0 and that of Debian 12, 3.11.2, are enough: later fixes of 3.11 have brought arguments."""

import ast
from collections.abc import Iterator
from typing import Final

from tests.support.running import ROOT

LATER: Final = {
    "extract": "filter",  # of tarfile, 3.11.4
    "extractall": "filter",
    "unpack_archive": "filter",  # of shutil, 3.11.4
    "getaddresses": "strict",  # of email.utils, 3.11.10
    "parseaddr": "strict",
}
"""The arguments that came with a fix of 3.11, by the function: elsewhere they are a TypeError."""


def later_arguments(source: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the function of each call in ``source`` that an older 3.11 does not take."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            name = str(getattr(node.func, "attr", None) or getattr(node.func, "id", ""))
            if any(keyword.arg == LATER.get(name, "") for keyword in node.keywords):
                yield node.lineno, name


def test_nothing_is_called_by_an_argument_that_a_fix_of_python_3_11_has_brought() -> None:
    paths = [
        ROOT / "dev.py",
        *(path for top in ("service", "tests", "docs", "deploy") for path in (ROOT / top).rglob("*.py")),
    ]
    calls = [
        f"{path.relative_to(ROOT)}:{line} {name}"
        for path in paths
        if any(name in (source := path.read_text("utf-8")) for name in LATER)
        for line, name in later_arguments(source)
    ]
    assert calls == []


def test_such_a_call_is_noticed() -> None:
    assert [*later_arguments("archive.extractall(folder, filter='data')")] == [(1, "extractall")]
    assert [*later_arguments("archive.extractall(folder)\nfilter(f, names)")] == []
