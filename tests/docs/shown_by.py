"""Find the files and tests that a page names, and that are not there.

A page names a file by its path from the root, in backticks, and behind it in the same line its tests.
"""

import re
from functools import cache
from pathlib import Path

from tests.docs.pages import ROOT

_CODE = re.compile(r"`([^`\n]+)`")
_FILE = re.compile(r"(service|tests|deploy|docs|policies)/[\w./-]*")


def missing_files(page: str) -> list[str]:
    """Return the files and folders of the repository that ``page`` names, and that do not exist."""
    return [name for name in _CODE.findall(page) if _FILE.fullmatch(name) and not (ROOT / name).exists()]


def missing_tests(page: str) -> list[str]:
    """Return the tests that the file named before them in their line does not have."""
    missing = []
    for line in page.splitlines():
        file: str | None = None
        for name in _CODE.findall(line):
            if _FILE.fullmatch(name):
                file = name
            elif name.startswith("test_") and (file is None or name not in _tests(ROOT / file)):
                missing.append(name)
    return missing


@cache
def _tests(file: Path) -> frozenset[str]:
    text = file.read_text(encoding="utf-8") if file.suffix == ".py" and file.is_file() else ""
    return frozenset(re.findall(r"^ *(?:async )?def (test_\w+)\(", text, re.MULTILINE))
