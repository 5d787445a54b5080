"""Which roles pass which requests, as one table: for pages of answers, CSV and HTML."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from html import escape

from service.authz.engine.policy import Policy
from service.authz.engine.request_classes import RequestClass
from service.authz.review.batch_decider import BatchDecider, DecidingLines, all_requests
from service.authz.review.impact import Standing
from service.kernel.codes import HeldCodes, may_grant
from service.kernel.text import escape_formula


@dataclass(frozen=True, slots=True)
class PassingCell:
    """A role that passes a request; ``by`` are its codes that open a line, none where a login is enough."""

    role_code: str
    by: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MatrixRow:
    """A request, and the roles that pass it by themselves.

    ``visitors``: everybody passes, logged in or not. ``any_login``: everybody who is logged in.
    """

    object: str
    visitors: bool
    any_login: bool
    roles: tuple[PassingCell, ...]


class Matrix:
    """The rows of one policy, by path and method; computed on demand.

    They are about all roles of ``standing``, or about those of ``roles`` that it has.
    """

    def __init__(self, standing: Standing, roles: Collection[str] | None = None) -> None:
        self.roles = sorted(standing.codes if roles is None else standing.codes.keys() & set(roles))
        self.requests = all_requests(standing.policy)
        self._standing = standing
        self._decider = BatchDecider(standing.policy)
        self._cells: dict[DecidingLines, tuple[PassingCell, ...]] = {}
        self._opened: dict[tuple[str, str], tuple[str, ...]] = {}

    @property
    def policy(self) -> Policy:
        """The policy."""
        return self._standing.policy

    def rows(self, requests: Sequence[RequestClass] | None = None) -> list[MatrixRow]:
        """Return the rows of ``requests``, some of those of the matrix, or of all."""
        return [self._row(request) for request in (self.requests if requests is None else requests)]

    def _row(self, request_class: RequestClass) -> MatrixRow:
        lines = self._decider.lines(request_class)
        if lines not in self._cells:
            self._cells[lines] = tuple(
                PassingCell(role, tuple(dict.fromkeys(self._by(role, lines))))
                for role in self.roles
                if self._decider.passes(lines, self._standing.held([role]))
            )
        visitors = self._decider.passes_request(request_class, None)
        return MatrixRow(
            request_class.name, visitors, self._decider.passes(lines, HeldCodes()), self._cells[lines]
        )

    def _by(self, role: str, lines: DecidingLines) -> list[str]:
        codes = {code for layer in lines for code in layer if not code.startswith("@")}
        return sorted(held for code in codes for held in self._opening(role, code))

    def _opening(self, role: str, code: str) -> tuple[str, ...]:
        key = role, code
        if key not in self._opened:
            given = may_grant(self._standing.codes[role], code)
            self._opened[key] = tuple(
                held for held in given if self._decider.passes(((code,), (code,)), HeldCodes([held]))
            )
        return self._opened[key]


def as_csv(matrix: Matrix) -> str:
    """Return the matrix as CSV with a header; a cell is empty for a role that does not pass.

    Else it has the codes of the role that open the request; ``login`` or ``anyone`` where none is needed.
    """
    text = io.StringIO()
    writer = csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\r\n")
    writer.writerow(["request", *matrix.roles])
    for row in matrix.rows():
        cells = {cell.role_code: _cell(row, cell) for cell in row.roles}
        writer.writerow([row.object, *(escape_formula(cells.get(role, "")) for role in matrix.roles)])
    return text.getvalue()


def _cell(row: MatrixRow, cell: PassingCell) -> str:
    return " ".join(cell.by) or ("anyone" if row.visitors else "login")


_STYLE = """
body { font: 14px/1.4 system-ui, sans-serif; margin: 1.5rem; color: #1a1a1a; background: #fff; }
table { border-collapse: collapse; }
th, td { border: 1px solid #c8c8c8; padding: .2rem .5rem; text-align: left; font-weight: normal; }
thead th { position: sticky; top: 0; background: #eee; font-weight: bold; }
tbody th { position: sticky; left: 0; background: #f6f6f6; font-family: monospace; white-space: nowrap; }
td.code { background: #dcefdc; font-family: monospace; }
td.open { background: #fdeec9; }
@media print { thead th, tbody th { position: static; } thead { display: table-header-group; }
  tr { break-inside: avoid; } body { margin: 0; font-size: 9px; } }
"""


def as_html(matrix: Matrix) -> str:
    """Return the matrix as one page without anything to load; the cells are those of ``as_csv``."""
    policy = matrix.policy
    head = "".join(f"<th scope=col>{escape(role)}</th>" for role in matrix.roles)
    body = "\n".join(_html_row(row, matrix.roles) for row in matrix.rows())
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Roles and requests</title>
<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head><body>
<h1>Roles and requests</h1>
<p>Policy revision {policy.revision}, digest <code>{escape(policy.digest)}</code>, static policy
<code>{escape(policy.own_digest)}</code>. A cell names the codes by which a role passes; <em>login</em> and
<em>anyone</em> where no code is needed; an empty cell is a refusal.</p>
<table><thead><tr><th scope=col>Request</th>{head}</tr></thead><tbody>
{body}
</tbody></table></body></html>
"""


def _html_row(row: MatrixRow, roles: Sequence[str]) -> str:
    passing = {cell.role_code: cell for cell in row.roles}
    cells = []
    for role in roles:
        if (cell := passing.get(role)) is None:
            cells.append("<td></td>")
        else:
            kind = "code" if cell.by else "open"
            cells.append(f'<td class="{kind}">{escape(_cell(row, cell))}</td>')
    return f"<tr><th scope=row>{escape(row.object)}</th>{''.join(cells)}</tr>"
