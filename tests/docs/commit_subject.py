"""Check the subject of a commit message: ``python -m tests.docs.commit_subject FILE``.

The exit status is 1 for a fault.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Final

MOST: Final = 72
_FORM: Final = re.compile(r"[a-z]+(?:\([a-z0-9_-]+\))?!?: [^A-Z\s].*[^.\s]")
_MADE: Final = re.compile(r"(?:Merge|Revert|fixup!|squash!|amend!) ")
"""Subjects that git writes."""


def fault_of(message: str) -> str:
    """Return the fault of the subject of a commit message; empty if there is none."""
    subject = next((line for line in message.splitlines() if line.strip() and not line.startswith("#")), "")
    if _MADE.match(subject):
        return ""
    if len(subject) > MOST:
        return f"the subject has {len(subject)} characters, at most {MOST}: move details to the body"
    if not _FORM.fullmatch(subject):
        return "the subject must have the form type(scope): summary, in lower case and without a full stop"
    return ""


def main(arguments: list[str]) -> int:
    """Print the fault of the message in the file that ``arguments`` name; returns the exit status."""
    fault = fault_of(Path(arguments[0]).read_text("utf-8"))
    if fault:
        sys.stderr.write(f"{fault}\n")
    return 1 if fault else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
