"""Table of roles and the requests and objects that they pass: for answers, CSV and pages."""

import csv
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import compress
from typing import Final, TypeAlias, TypeVar

from service.authz.engine.rules import APPROVE, ASSURANCE, REQUEST, assured
from service.kernel.text import escape_formula
from service.laboratory.analysis.demands import Demands, demanded, demands_on, least_words
from service.laboratory.analysis.equivalence_classes import EquivalenceClasses, bits_of
from service.laboratory.analysis.impact import Standing
from service.laboratory.analysis.opening_codes import OpeningCodes
from service.laboratory.proof.batch_decider import DecidingLines, all_requests, deciding_lines
from service.laboratory.proof.conditions import Clauses, clauses_of, lets_visitors_pass
from service.laboratory.proof.request_classes import RequestClass
from service.laboratory.reporting.document import Block, Cell, Document, Paragraph, Section, Table

_AT_ONCE: Final = 4096
"""Requests decided at once, so that a long table can be written while it is computed."""


Codes: TypeAlias = tuple[str, ...]

Shown = TypeVar("Shown")
"""The cell of a format: text, or a cell of a page."""


@dataclass(frozen=True, slots=True)
class PassingCell:
    """A role that passes a request; ``by`` are its deciding codes, empty if a login is enough."""

    role_code: str
    by: Codes


@dataclass(frozen=True, slots=True)
class MatrixRow:
    """A request, or an object with its layer such as ``approve role auditor stage 1 for others``.

    The row has the roles that pass alone. ``visitors``: everybody passes, logged in or not. ``any_login``:
    every logged-in user passes. ``assurance`` are the weakest authentication demands, one of which is
    required besides.
    """

    object: str
    visitors: bool
    any_login: bool
    assurance: tuple[str, ...]
    roles: tuple[PassingCell, ...]


@dataclass(frozen=True, slots=True)
class _AccessRequest:
    """A role request or approval: the layer and its object, as one name."""

    layer: str
    object: str

    @property
    def name(self) -> str:
        return f"{self.layer} {self.object}"


Asked = RequestClass | _AccessRequest


class Matrix:
    """The rows of a policy: requests by path and method, then requests and approvals of roles.

    Rows are computed on demand, for all roles of ``standing``, or for those in ``roles``.
    """

    def __init__(self, standing: Standing, roles: Collection[str] | None = None) -> None:
        self.policy: Final = standing.policy
        self.roles = sorted(standing.codes if roles is None else standing.codes.keys() & set(roles))
        self.places = {role: place for place, role in enumerate(self.roles)}
        rules = standing.policy.rules
        self.requests = all_requests(standing.policy)
        self.asked: Sequence[Asked] = [
            *self.requests,
            *(_AccessRequest(layer, name) for layer in (REQUEST, APPROVE) for name in rules.objects(layer)),
        ]
        self._given = {role: frozenset(standing.codes[role]) for role in self.roles}
        self._opening = OpeningCodes(
            standing.policy.model_text, frozenset[str]().union(*self._given.values())
        )

    def rows(self, requests: Sequence[Asked] | None = None) -> Iterator[MatrixRow]:
        """Yield the rows of ``requests``, which are in the matrix, or all rows."""
        chosen = self.asked if requests is None else requests
        for start in range(0, len(chosen), _AT_ONCE):
            yield from self._part(chosen[start : start + _AT_ONCE])

    def _part(self, requests: Sequence[Asked]) -> Iterator[MatrixRow]:
        clauses = [self._clauses(request) for request in requests]
        lines = [deciding_lines(each) for each in clauses]
        classes = EquivalenceClasses(self._opening, self._given, lines)
        having: list[list[str]] = [[], *([role] for role in self.roles)]
        passed = zip(*(bits_of(classes.of(roles), len(requests)) for roles in having), strict=True)
        for request, asked, layers, (any_login, *by_role) in zip(
            requests, clauses, lines, passed, strict=True
        ):
            yield MatrixRow(
                request.name,
                lets_visitors_pass(self.policy, asked),
                bool(any_login),
                least_words(self.policy, self._demands(request)),
                tuple(self._cells(layers, compress(self.roles, by_role))),
            )

    def _clauses(self, asked: Asked) -> Clauses:
        if isinstance(asked, RequestClass):
            return clauses_of(self.policy, asked)
        return (self.policy.rules.codes(asked.layer, asked.object),)

    def _demands(self, asked: Asked) -> Demands:
        if isinstance(asked, RequestClass):
            return demands_on(self.policy, asked)
        asks = asked.layer == REQUEST
        return (self.policy.rules.codes(ASSURANCE, assured(REQUEST, asked.object)),) if asks else ()

    def _cells(self, layers: DecidingLines, roles: Iterable[str]) -> Iterator[PassingCell]:
        opening = {held for codes in layers for code in codes for held in self._opening.alone(code)}
        for role in roles:
            yield PassingCell(role, tuple(sorted(opening & self._given[role])))


def as_csv(matrix: Matrix, source: str) -> Iterator[str]:
    """Yield the lines of the matrix as CSV: its ``source``, a header of request, demand and roles, and rows.

    A cell is empty for a role that does not pass. Otherwise it has the codes of the role that allow the
    request, or ``login`` or ``anyone`` if no code is required.
    """
    writer = csv.writer(_Returned(), quoting=csv.QUOTE_ALL, lineterminator="\r\n")
    yield writer.writerow([f"Source: {source}"])
    yield writer.writerow(["request", "authentication", *matrix.roles])
    # Most cells have one of a few texts.
    shown = cache(_csv_cell)
    for row in matrix.rows():
        cells = _across(matrix, row, "", partial(shown, row.visitors))
        yield writer.writerow([row.object, " ".join(demanded(row.assurance)), *cells])


class _Returned:
    """A file whose ``write`` returns the text, as then does a CSV writer."""

    @staticmethod
    def write(text: str) -> str:
        return text


def _across(matrix: Matrix, row: MatrixRow, empty: Shown, shown: Callable[[Codes], Shown]) -> list[Shown]:
    """Return a cell for each role of the matrix: ``shown``, or ``empty`` for a role that does not pass."""
    cells = [empty] * len(matrix.roles)
    for cell in row.roles:
        cells[matrix.places[cell.role_code]] = shown(cell.by)
    return cells


def _csv_cell(visitors: bool, by: Codes) -> str:
    return escape_formula(_cell(visitors, by))


def _cell(visitors: bool, by: Codes) -> str:
    return " ".join(by) or ("anyone" if visitors else "login")


def as_document(matrix: Matrix, source: str) -> Document:
    """Return a page with the data of ``as_csv``, whose rows are computed when it is written."""
    policy = matrix.policy
    blocks: list[Block] = [
        Paragraph(
            f"Policy revision {policy.revision}, digest {policy.digest}, own part {policy.own_digest}. A "
            "cell names the codes by which a role passes, “login” or “anyone” where no code is needed. An "
            "empty cell is a refusal. Besides, a request needs any one of the words in Authentication."
        ),
        Table("Roles and requests", ("Request", "Authentication", *matrix.roles), _rows(matrix)),
    ]
    return Document("Roles and requests", f"Source: {source}.", [Section("matrix", "Matrix", blocks)])


def _rows(matrix: Matrix) -> Iterator[Sequence[Cell]]:
    denied, shown = Cell(""), cache(_page_cell)
    for row in matrix.rows():
        words = Cell(" ".join(demanded(row.assurance)))
        yield Cell(row.object, code=True), words, *_across(matrix, row, denied, partial(shown, row.visitors))


def _page_cell(visitors: bool, by: Codes) -> Cell:
    return Cell(_cell(visitors, by), tone="good" if by else "attention")
