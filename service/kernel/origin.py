"""The present request, for the logs: its facts, its span, its questions and its changes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextvars import ContextVar
from datetime import datetime
from typing import Any, Final, Literal, NamedTuple, Protocol
from uuid import UUID

from msgspec import Struct

from service.kernel.assurance import Satisfied
from service.kernel.coded_sentences import Sentence

MOST_TARGETS: Final = 1_000
"""Records of one request that are named: as many as an import has rows."""


class FieldChange(Struct, frozen=True, omit_defaults=True):
    """The change of one field of the record ``target``; None where the record or the value is not there.

    For a field with many values, such as the permissions of a role, ``before`` has the removed values and
    ``after`` the added ones; ``removed`` and ``added`` count them, and are None for any other field.
    """

    target: str
    field: str
    before: Any
    after: Any
    removed: int | None = None
    added: int | None = None


class ChangeRecord:
    """The records of a request, and its saved changes of them."""

    def __init__(self) -> None:
        self._targets: dict[str, None] = {}
        self.changes: list[FieldChange] = []
        """The saved changes, in order."""
        self.warnings: list[Sentence] = []
        """Warnings about the saved changes: sentences for the answer."""
        self._saving: tuple[Sequence[FieldChange], Sequence[str]] = (), ()
        self.entry: tuple[UUID, datetime] | None = None
        """The id and the time of the entry of the request, once something was about to be saved."""
        self.intent: tuple[tuple[str, ...], int] | None = None
        """The targets, and the number of changes, of the intent that is saved."""
        self.transaction: int | None = None
        """The number of the transaction that has changed rights; None if none has."""

    @property
    def targets(self) -> tuple[str, ...]:
        """The records, such as ``role:auditor``, in the order in which they were named."""
        return tuple(self._targets)

    def save(self, changes: Sequence[FieldChange], targets: Sequence[str]) -> None:
        """Record the changes and targets of the transaction that is about to commit."""
        self._saving = changes, targets

    def with_saving(self) -> tuple[tuple[str, ...], list[FieldChange]]:
        """Return the targets and changes after the commit of the transaction; clear its pending part.

        An uncommitted part must not count for the next transaction of the request.
        """
        (changes, targets), self._saving = self._saving, ((), ())
        named = dict.fromkeys((*self._targets, *(change.target for change in changes), *targets))
        return tuple(named)[:MOST_TARGETS], [*self.changes, *changes]

    def concern(self, targets: Iterable[str]) -> None:
        """Add records that the request is about, ``MOST_TARGETS`` in all."""
        for target in targets:
            if len(self._targets) == MOST_TARGETS:
                return
            self._targets[target] = None


def field_changes(target: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> list[FieldChange]:
    """Return the changes between the fields of a record; a new or a deleted one has no fields on one side.

    A ``frozenset`` is a field with many values, compared one by one.
    """
    changes = []
    for field in {**before, **after}:
        old, new = before.get(field), after.get(field)
        if isinstance(old, frozenset) or isinstance(new, frozenset):
            old, new = old or frozenset(), new or frozenset()
            changes += values_change(target, field, old - new, new - old)
        elif old != new:
            changes.append(FieldChange(target, field, old, new))
    return changes


def values_change(
    target: str, field: str, removed: Collection[str], added: Collection[str]
) -> list[FieldChange]:
    """Return the change of a field with many values; nothing without a difference."""
    if not (removed or added):
        return []
    return [FieldChange(target, field, sorted(removed), sorted(added), len(removed), len(added))]


Needed = Literal["all", "any"]
"""The number of required codes: all of them, or any."""


class EditRequest(NamedTuple):
    """The request for one edit, of a request that makes several; ``template`` is that of its route."""

    method: str
    path: str
    template: str


class GrantQuestion(NamedTuple):
    """May the caller grant these codes?"""

    codes: tuple[str, ...]
    needed: Needed


class LastingQuestion(NamedTuple):
    """May the caller give these codes on, until an end that of the caller's codes only ``held`` reach?"""

    codes: tuple[str, ...]
    needed: Needed
    held: frozenset[str]


class ObjectQuestion(NamedTuple):
    """May the caller pass this object of this layer?"""

    layer: str
    object: str


class Delegated:
    """The questions of one change: asked of the policy ``revision``, about the token and ``stored_codes``.

    ``stored_codes`` are the codes of the caller in the database. ``objects`` are questions about single
    objects of other layers than ``grant``. ``ceiling`` are the codes of a directory, of which ``grants`` are
    asked in the place of the caller's; None if it was asked of the caller. ``lasting`` are questions about
    grants that end later than something that the caller holds for a time.
    """

    def __init__(self, revision: int, stored_codes: frozenset[str]) -> None:
        self.revision = revision
        self.stored_codes = stored_codes
        self.grants: dict[GrantQuestion, None] = {}  # in order; an import asks the same of many rows
        self.lasting: dict[LastingQuestion, None] = {}
        self.objects: dict[ObjectQuestion, None] = {}
        self.edits: list[EditRequest] = []
        self.ceiling: frozenset[str] | None = None


Value = str | int | float | bool
"""The value of an attribute. It must never be a secret, a user name, or content of the request."""

Kind = Literal["internal", "client"]
"""``client`` is a question to another process, whose answer is waited for."""


class Span(Protocol):
    """One piece of work of a traced request. Thread-safe; its methods never wait and never raise."""

    def child(
        self, name: str, attributes: Mapping[str, Value] | None = None, *, kind: Kind = "internal"
    ) -> Span:
        """Begin a span within this one."""

    def set(self, name: str, value: Value) -> None:
        """Set an attribute."""

    def end(self, error: str | None = None) -> None:
        """End it; ``error`` names what went wrong by one word, such as the class of an exception."""


class Origin(Protocol):
    """The facts of a request that logs need."""

    request_id: str
    trace_id: str
    """The id of its trace (32 hexadecimal digits); "" without tracing."""
    span: Span | None
    """The span of the whole request; None if it is not traced."""
    recorded: ChangeRecord | None
    """The change made by the request; None before it is recorded."""
    delegated: Delegated | None
    """The checks of the caller's rights beyond the admission of the request."""
    satisfied: Satisfied | None
    """The authentication words that the caller satisfied at admission; None for an anonymous caller."""

    def entry(self) -> Struct | None:
        """Return the entry of the operation log at this moment, without the request's content.

        None if the operation is not logged, and once the request has its entry.
        """

    @property
    def acting(self) -> str | None:
        """The name of the caller from the token; None before admission."""

    @property
    def address(self) -> str:
        """The address of the client; "" if unknown."""

    @property
    def user_agent(self) -> str:
        """The User-Agent, safe for logs; "" if the request has none."""


ORIGIN: ContextVar[Origin | None] = ContextVar("origin", default=None)
"""The request that is being served; tasks that it starts inherit it."""

OPERATOR: Final = "@operator"
"""The name of the editor outside of requests: a person at the machine."""


def acting() -> str | None:
    """Return the present editor of records: the user name of the caller, ``OPERATOR`` outside of requests."""
    origin = ORIGIN.get()
    return OPERATOR if origin is None else origin.acting
