"""The section about roles: what each gives, and which requests it passes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from service.authz.review.matrix import Matrix, MatrixRow, PassingCell
from service.kernel.text import counted
from service.reporting.document import Block, Cell, Paragraph, Table
from service.reporting.gathering import Reported

_ACROSS = 8
"""Roles in one table, so that it fits on paper."""


def blocks(reported: Reported) -> Iterator[Block]:
    """Yield the roles, and the tables of roles and requests; what is left out without a database."""
    if reported.stored is None:
        yield Paragraph("Left out: roles are in the database, and none was named.")
        return
    standing = reported.stored.standing
    matrix = Matrix(standing)
    rows = []
    for role in matrix.roles:
        users = sum(number for roles, number in standing.users.items() if role in roles)
        codes = standing.codes[role]
        rows.append((Cell(role, code=True), Cell(str(users)), Cell(codes or "none", code=bool(codes))))
    yield Table(counted(len(rows), "enabled role"), ("Role", "Enabled users", "Codes that it gives"), rows)
    yield Paragraph(
        "What each role passes by itself, as the enforcer decides: “yes” by the code that a line names, "
        "“wildcard” by a code with *, “login” and “anyone” where no code is needed, “no” for a refusal. "
        "“portcullis policy who” names the codes and lines."
    )
    requests = [*matrix.rows()]
    for start in range(0, len(matrix.roles), _ACROSS):
        roles = matrix.roles[start : start + _ACROSS]
        part = f", roles {start + 1} to {start + len(roles)}" if len(matrix.roles) > _ACROSS else ""
        yield Table(
            f"{counted(len(requests), 'request')} by role{part}",
            ("Request", *roles),
            [(Cell(row.object, code=True), *_cells(row, roles)) for row in requests],
        )


def _cells(row: MatrixRow, roles: Sequence[str]) -> Iterator[Cell]:
    passing = {cell.role_code: cell for cell in row.roles}
    for role in roles:
        cell = passing.get(role)
        yield Cell("no", tone="muted") if cell is None else Cell(_word(row, cell), tone="good")


def _word(row: MatrixRow, cell: PassingCell) -> str:
    if cell.by:
        return "wildcard" if all("*" in code for code in cell.by) else "yes"
    return "anyone" if row.visitors else "login"
