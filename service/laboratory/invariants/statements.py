"""Statements of ``invariants.yaml`` about permissions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Final, Literal

import msgspec

from service.authz.engine.rules import (
    ACCOUNT,
    ANYONE,
    ASSURANCE,
    ENDPOINT,
    LOGIN,
    NOBODY,
    RESOURCE,
    UNREGISTERED,
    Rule,
)
from service.kernel.coded_sentences import Sentence
from service.laboratory.proof.within import Bounded


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A statement that must stay true, with its ``reason``; ``place`` is file and line.

    A reason that only the operator's files have is a sentence without a code.
    """

    name: str
    reason: Sentence
    place: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OnlyRoles(Statement):
    """Only holders of one of these roles reach ``requests``, whatever other roles users have together."""

    roles: tuple[str, ...]
    requests: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OnlyHolders(Statement):
    """Only holders of one of ``codes`` reach ``requests``; this is checked for every possible caller."""

    codes: tuple[str, ...]
    requests: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Apart(Statement):
    """No single role, or no single user, holds two of ``codes``: separation of duties.

    ``excepted`` are role codes: these roles, or the users who have one of them, may.
    """

    among: Literal["roles", "users"]
    codes: tuple[str, ...]
    excepted: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EndsWithin(Statement):
    """No user has one of ``roles``, or holds one of ``codes``, for longer than ``days`` from now on.

    Assignments that follow one another without a gap count as one; later ones count from their beginning.
    ``excepted`` are role codes: users with one of these roles are exempt.
    """

    days: int
    roles: tuple[str, ...]
    codes: tuple[str, ...]
    excepted: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeNeeded(Statement):
    """Every request with one of ``methods`` needs a permission code, except ``excepted``."""

    methods: tuple[str, ...]
    excepted: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WithinPerson(Statement):
    """No caller of these kinds passes where its person, its scopes, its roles or its delegation would not.

    Checked for every possible caller.
    """

    callers: tuple[Bounded, ...]


LISTED: Final = (RESOURCE, ENDPOINT, ACCOUNT)
"""The layers of the node's own lines, of which there are exact lists."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exactly(Statement):
    """The node's own lines with ``word`` as code are exactly those of ``objects`` in ``layer``."""

    word: str
    layer: str
    objects: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactLines(Statement):
    """The node's own lines that open by a code, except those of endpoints, are exactly ``lines``.

    The lines of endpoints are compared with the code.
    """

    lines: tuple[Rule, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactDemands(Statement):
    """The demands of a level are exactly these: ``others`` on each object that no group names.

    ``level`` is a value of ``policy.assurance``. ``groups`` are words, any one of which is enough, and the
    objects of the layer ``assurance`` that have them. ``besides`` are objects of further lines, which the
    list does not know.
    """

    level: str
    others: tuple[str, ...]
    groups: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]
    besides: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CodesLike(Statement):
    """Every code of the node's own lines that is no word matches the regular expression ``pattern``."""

    pattern: str


@dataclass(frozen=True, slots=True)
class Invariants:
    """All statements that a node knows."""

    statements: tuple[Statement, ...] = ()

    @property
    def about_roles(self) -> bool:
        """True if a change of roles, or of the roles of users, could break a statement."""
        return any(isinstance(statement, OnlyRoles | Apart | EndsWithin) for statement in self.statements)

    @property
    def about_users(self) -> bool:
        """True if a statement is about what single users hold."""
        return any(
            isinstance(statement, EndsWithin) or (isinstance(statement, Apart) and statement.among == "users")
            for statement in self.statements
        )

    @property
    def unlisted(self) -> tuple[str, ...]:
        """Openings of the node's own lines that no list names.

        A word, a word in a layer, ``lines``, or the demanded ``assurance``.

        An editor of the files could open these, and no statement would break.
        """
        listed = {
            (statement.word, statement.layer)
            for statement in self.statements
            if isinstance(statement, Exactly)
        }
        missing = []
        for word in (ANYONE, LOGIN, NOBODY):
            layers = [layer for layer in LISTED if (word, layer) not in listed]
            missing += [word] if len(layers) == len(LISTED) else [f"{word} {layer}" for layer in layers]
        if not any(isinstance(statement, ExactLines) for statement in self.statements):
            missing.append("lines")
        if not any(isinstance(statement, ExactDemands) for statement in self.statements):
            missing.append(ASSURANCE)
        return tuple(missing)

    @property
    def canonical(self) -> bytes:
        """All statements as JSON, whatever their order and the files that they stand in."""
        rows = [
            [
                type(statement).__name__,
                *(getattr(statement, each.name) for each in fields(statement) if each.name != "place"),
            ]
            for statement in self.statements
        ]
        return b"\n".join(sorted(msgspec.json.encode(row, enc_hook=str) for row in rows))

    def without_unregistered(self) -> Invariants:
        """Return the same for a node that closes requests that no registered resource fits."""
        return Invariants(tuple(map(_closed, self.statements)))

    def without(self, is_off: Callable[[str], bool]) -> Invariants:
        """Return the same without the requests and objects of features that ``is_off`` names.

        A statement about nothing else is left out.
        """
        kept = (_served(statement, is_off) for statement in self.statements)
        return Invariants(tuple(statement for statement in kept if statement is not None))

    def with_demands(self, level: str) -> Invariants:
        """Return the same for a node that uses the demands of ``level``, without the lists of the others."""
        return Invariants(
            tuple(
                statement
                for statement in self.statements
                if not isinstance(statement, ExactDemands) or statement.level == level
            )
        )

    def with_own(self, lines: Iterable[Rule]) -> Invariants:
        """Return the same for a node with further lines of its own, which no exact list has to name."""
        added = tuple(lines)
        return Invariants(tuple(_widened(statement, added) for statement in self.statements))


NONE: Final = Invariants()


def _widened(statement: Statement, lines: Sequence[Rule]) -> Statement:
    if isinstance(statement, ExactDemands):
        added = {rule.object for rule in lines if rule.layer == ASSURANCE}
        return replace(statement, besides=(*statement.besides, *sorted(added)))
    if not isinstance(statement, Exactly):
        return statement
    opened = (rule.object for rule in lines if (rule.layer, rule.code) == (statement.layer, statement.word))
    return replace(statement, objects=(*statement.objects, *opened))


def _served(statement: Statement, is_off: Callable[[str], bool]) -> Statement | None:
    def served(names: Iterable[str]) -> tuple[str, ...]:
        return tuple(name for name in names if not is_off(name))

    match statement:
        case OnlyRoles() | OnlyHolders():
            requests = served(statement.requests)
            return replace(statement, requests=requests) if requests else None
        case CodeNeeded():
            return replace(statement, excepted=served(statement.excepted))
        case Exactly():
            return replace(statement, objects=served(statement.objects))
        case ExactLines():
            return replace(
                statement, lines=tuple(line for line in statement.lines if not is_off(line.object))
            )
        case ExactDemands():
            groups = ((words, served(objects)) for words, objects in statement.groups)
            kept = tuple((words, objects) for words, objects in groups if objects)
            return replace(statement, groups=kept, besides=served(statement.besides))
    return statement


def _closed(statement: Statement) -> Statement:
    if isinstance(statement, ExactLines):
        return replace(
            statement, lines=tuple(line for line in statement.lines if line.object != UNREGISTERED)
        )
    if not isinstance(statement, Exactly) or statement.word == NOBODY:
        return statement
    return replace(statement, objects=tuple(name for name in statement.objects if name != UNREGISTERED))
