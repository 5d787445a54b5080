"""Statements and situations for tests, from the text of a file."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from service.authz.engine.lines import Lines
from service.authz.engine.policy import Policy
from service.authz.engine.rules import Rule
from service.authz.publishing.shipped import read_shipped
from service.laboratory.invariants.checking import Holders
from service.laboratory.invariants.reading import read_invariants
from service.laboratory.invariants.spans import Held
from service.laboratory.invariants.statements import Invariants

SHIPPED = read_shipped()
NOW = datetime(2026, 11, 1, tzinfo=UTC)


def stated(text: str) -> Invariants:
    """Read statements, written without their names and reasons, one for each line."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "stated.yaml"
        lines = [line for line in text.splitlines() if line.strip()]
        statements = "".join(
            f"  - {{name: s{at}, reason: it matters, {line.strip()}}}\n" for at, line in enumerate(lines)
        )
        path.write_text(f"statements:\n{statements}", "utf-8")
        return read_invariants([path])


def policy_of(*shared: str) -> Policy:
    """Return the shipped policy with ``shared`` lines, such as ``resource, GET /api/role/list, a:b``."""
    return SHIPPED.policy(Lines(Rule(*line.split(", ")) for line in shared), {}, 1)


def holders(
    roles: Mapping[str, str],
    users: Mapping[str, tuple[str, ...]] | None = None,
    changing: Mapping[str, tuple[Held, ...]] | None = None,
) -> Holders:
    """Return roles with their codes, separated by spaces, and the names of users by their roles.

    ``changing`` are the assignments of those whose roles change by themselves.
    """
    names: dict[tuple[str, ...], tuple[str, ...]] = {}
    for name, having in (users or {}).items():
        names[having] = (*names.get(having, ()), name)
    return Holders({role: tuple(codes.split()) for role, codes in roles.items()}, names, changing or {}, NOW)
