"""A check of ``doctor``, its finding, and its input: the settings, and the stores that could be reached.

The checks are in features; each feature can bring some.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple, TypeAlias

from service.authz.engine.policy import Policy
from service.authz.publishing.publisher import derived_policy
from service.authz.publishing.shipped import Shipped
from service.authz.publishing.sync import KnownRoute
from service.errors import Unavailable
from service.kernel.coded_sentences import Sentence
from service.kernel.core_sentences import sentence
from service.kernel.text import printable
from service.keyspace.inspection import StoreFacts
from service.records.database.server_facts import ServerFacts
from service.records.database.transactions import Connection, Database
from service.records.published import policy_revisions
from service.settings import Settings

State = Literal["ok", "warning", "fault", "unknown"]


@dataclass(frozen=True, slots=True)
class Finding:
    """The result in one line, and what to do about it; neither holds a secret.

    ``unknown``: the check could not be made; ``message`` says why. ``users`` are the accounts that the
    message names, each with its id. A ``local`` one names addresses or accounts of servers: the API shows the
    state alone. The texts of others are sentences with codes, by which clients translate them.
    """

    state: State
    message: str
    remedy: str = ""
    users: tuple[tuple[int, str], ...] = ()
    local: bool = False


Findings: TypeAlias = list[tuple[str, Finding]]
"""The name of each check with its finding."""

STATES: Final[tuple[State, ...]] = ("fault", "warning", "unknown", "ok")
"""The states, the worst first."""


def worst_of(findings: Findings) -> State:
    """Return the worst state of at least one finding."""
    states = {finding.state for _, finding in findings}
    return next(state for state in STATES if state in states)


def ok(message: str) -> Finding:
    """Return a finding with nothing to do."""
    return Finding("ok", message)


def warning(message: str, remedy: str, *, users: Iterable[tuple[int, str]] = ()) -> Finding:
    """Return a finding of something that works but is a risk, of ``users`` by id and name."""
    return Finding("warning", message, remedy, tuple(users))


def fault(message: str, remedy: str) -> Finding:
    """Return a finding of something that does not work, or is a security hole."""
    return Finding("fault", message, remedy)


def unknown(message: str) -> Finding:
    """Return the finding of a check that could not be made."""
    return Finding("unknown", message)


NAMED: Final = 3
"""Maximum number of names in one line."""


def few(names: Iterable[str], *, separator: str = ", ", most: int = NAMED) -> str:
    """Return the first of ``names`` for a message, each once, in a form that is safe to print."""
    listed = [printable(name) for name in dict.fromkeys(names)]
    return separator.join([*listed[:most], *(["…"] if len(listed) > most else [])])


def few_of(sentences: Iterable[Sentence], *, most: int = NAMED) -> list[Sentence]:
    """Return the first of ``sentences`` as the items of a list, each once, and a sign for the others."""
    listed = [*dict.fromkeys(sentences)]
    return [*listed[:most], *([sentence("more_items")] if len(listed) > most else [])]


Routes: TypeAlias = Callable[[Shipped], Sequence[KnownRoute]]

WITHIN = 30.0  # seconds for one reading of the database; large policies take a few


class Unanswered(Exception):  # noqa: N818 - not an error of this program
    """A check can't be made; ``reason`` names the missing input."""

    def __init__(self, reason: Sentence) -> None:
        super().__init__(reason)
        self.reason: Final = reason


class _Derived:
    """The policy that the checks of one examination derived last, and the newest revision that they saw."""

    def __init__(self) -> None:
        self.turn: Final = asyncio.Lock()
        self.known: tuple[policy_revisions.PolicyRevision | None, Policy] | None = None


@dataclass(frozen=True)
class Installation:
    """One installation.

    ``server`` and ``store`` are None if they don't answer; ``server_fault`` and ``store_fault`` are the
    reasons, if known. ``shipped`` is None if the model or lines have faults. ``routes`` returns the guarded
    routes of the code; FaultsError unless the lines fit them. ``in_force`` is the policy by which this
    process decides: a derived policy reuses the parts that it shares with it.
    """

    environ: Mapping[str, str]
    settings: Settings
    routes: Routes
    database: Database | None = None
    server: ServerFacts | None = None
    store: StoreFacts | None = None
    shipped: Shipped | None = None
    in_force: Policy | None = None
    server_fault: str = ""
    store_fault: str = ""
    _derived: _Derived = field(default_factory=_Derived, repr=False, compare=False)

    @asynccontextmanager
    async def records(self) -> AsyncIterator[Connection]:
        """Yield a snapshot of the database; Unanswered if it can't be read."""
        if self.database is None or self.server is None:
            raise Unanswered(sentence("database_silent"))
        if not self.server.schema.is_usable:
            raise Unanswered(sentence("database_without_schema"))
        try:
            async with self.database.snapshot(within=WITHIN) as connection:
                yield connection
        except Unavailable:
            raise Unanswered(sentence("database_slow")) from None

    async def derived(self, connection: Connection) -> Policy:
        """Return the policy that would be published now, by the snapshot of ``connection``.

        The checks of an examination derive it once. A check that sees another newest revision than the one
        before derives it anew: a change of the policy and of rights is never seen by half. Raises PolicyError
        if no policy can be built, and Unanswered.
        """
        async with self._derived.turn:
            latest = await policy_revisions.latest(connection)
            if (known := self._derived.known) is None or known[0] != latest:
                known = latest, await derived_policy(connection, self.policy, self.in_force)
                self._derived.known = known
        return known[1]

    @property
    def sessions(self) -> StoreFacts:
        """The facts of the session store; Unanswered if it does not answer."""
        if self.store is None:
            raise Unanswered(sentence("session_store_silent"))
        return self.store

    @property
    def policy(self) -> Shipped:
        """The model and the lines; Unanswered if they have faults."""
        if self.shipped is None:
            raise Unanswered(sentence("policy_files_faulty"))
        return self.shipped


Look: TypeAlias = Callable[[Installation], Finding | Awaitable[Finding]]
"""Checks one thing; the first sentence of its docstring says why it matters."""


class Check(NamedTuple):
    """One check. The words of a ``local`` one name paths, addresses or servers of the node, or judge a key.

    The operator of the node reads them; the API shows the state alone. A check of a feature stands behind
    the check with the name ``after``, or at the end. A ``slow`` one reads much: a running service makes it
    less often while it finds nothing wrong.
    """

    name: str
    look: Look
    local: bool = False
    after: str = ""
    slow: bool = False
