"""Compare the API of this checkout with the released one: ``python -m tests.contract [--release]``.

Prints each breaking change that CHANGELOG.md does not name, and ends with status 1 if there is one.
``--release`` makes the API of this checkout the released one instead.
"""

import sys
from pathlib import Path

from tests.contract.breaks import breaks
from tests.contract.document import RELEASED, as_text, breaking_entries, contract, current, is_named, released

CHANGELOG = Path(__file__).resolve().parents[2] / "CHANGELOG.md"
_ADVICE = """\
These changes break clients of version {}. Undo them, or name each in CHANGELOG.md: an entry under
[Unreleased] with the word Breaking and, between backticks, both names that are shown in parentheses.
"""


def main(arguments: list[str]) -> int:
    """Do what ``arguments`` say; returns the exit status."""
    now = contract(current())
    if arguments == ["--release"]:
        RELEASED.write_text(as_text(now), encoding="utf-8")
        return 0
    if arguments:
        sys.stderr.write(str(__doc__))
        return 2
    entries = breaking_entries(CHANGELOG.read_text(encoding="utf-8"))
    before = released()
    changes = breaks(before, now)
    unnamed = [change for change, operations in changes.items() if not is_named(change, operations, entries)]
    for change in unnamed:
        sys.stderr.write(
            f"{change} (`{change.name}` in `{min(changes[change])}`{_others(changes[change])})\n"
        )
    if unnamed:
        sys.stderr.write(_ADVICE.format(before["info"]["version"]))
    return 1 if unnamed else 0


def _others(operations: set[str]) -> str:
    others = len(operations) // 2 - 1  # each is named twice
    return f" and {others} more" if others else ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
