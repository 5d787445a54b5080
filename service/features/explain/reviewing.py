"""Open the sources of a command: policies, and the database if it is needed."""

import asyncio
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import IO, Any, Generic, NamedTuple, TypeVar

import msgspec

from service import settings as table
from service.audit.seals import seals_of
from service.authz.engine.policy import Policy
from service.authz.publishing.shipped import configured
from service.cli.lazy_commands import add_usual
from service.errors import ValidationFailed
from service.features.explain.policy_layers import At
from service.features.explain.sentences import sentence
from service.kernel.identity import Kind
from service.kernel.text import counted
from service.laboratory.analysis.impact import Standing
from service.laboratory.analysis.sources import (
    LIVE,
    NAMES,
    READ_WITHIN,
    SHIPPED,
    Instant,
    PastPolicies,
    Source,
    instant_of,
    read_folder,
    read_policy,
    source_named,
    standing_of,
)
from service.laboratory.lint.model import require_grammar
from service.operator import installation
from service.operator.database import with_database
from service.operator.stores import reachable
from service.records.database.transactions import Connection, Database
from service.web.messages.access_change import AccessChange

T = TypeVar("T")


def instant(text: str) -> datetime:
    """Parse the instant of the option ``--at``; raises ArgumentTypeError without a time zone."""
    try:
        return msgspec.convert(text, At)
    except msgspec.ValidationError:
        raise ArgumentTypeError(
            f"{text!r} is not a time with a time zone, such as 2026-12-31T00:00:00Z"
        ) from None


def add_at(parser: ArgumentParser) -> None:
    """Add ``--at``, the instant of a question."""
    parser.add_argument(
        "--at",
        metavar="TIME",
        type=instant,
        help="ask about this time, past or future, such as 2026-12-31T00:00:00Z, instead of now",
    )


def add_review(parser: ArgumentParser) -> None:
    """Add ``--policy``, ``--at``, ``--data`` and ``--json``, for a question about one policy."""
    add_at(parser)
    add_policy(parser)
    add_usual(parser)


def add_policy(parser: ArgumentParser) -> None:
    """Add ``--policy``, the source of the policy."""
    parser.add_argument(
        "--policy",
        metavar="SOURCE",
        help=f"{NAMES}; by default {LIVE} if there is an installation, else {SHIPPED}",
    )


class Answered(NamedTuple, Generic[T]):
    """An answer, and the description of its sources for ``show``."""

    answer: T
    source: str


@dataclass(frozen=True, slots=True)
class Review:
    """Sources of a command: policies with this node's static policy, and the database, or None.

    Everything is as of ``at``; None is now. A source that is not the live policy has its own lines.
    ``revisions`` are the revisions read, by source name.
    """

    past: PastPolicies
    database: Database | None
    at: datetime | None = None
    revisions: dict[str, int] = field(default_factory=dict)

    async def policy(self, source: Source) -> Policy:
        """Return the policy of ``source``; raises PolicyError, Unavailable and ValidationFailed."""
        policy = await self._policy(source)
        self.revisions[source.name] = policy.revision
        return policy

    async def _policy(self, source: Source) -> Policy:
        policy = await read_policy(source, self.past, self.database)
        if self.at is None:
            return policy
        if self.database is None or source.name != LIVE:
            return policy.at(self.at.timestamp())
        async with self.database.snapshot(within=READ_WITHIN) as connection:
            return await self.past.at(connection, policy, await self.instant(connection))

    async def instant(self, connection: Connection) -> Instant:
        """Return the requested instant; raises ValidationFailed if its assignments are unknown."""
        return await instant_of(connection, self.at)

    async def proposed(self, source: Source) -> Policy:
        """Return the policy of ``source``; a folder's model may lack rows, because it decides nothing."""
        if source.folder is None:
            return await self.policy(source)
        return await asyncio.to_thread(read_folder, source.folder, require_grammar)

    async def standing(self, source: Source, kind: Kind | None = None) -> Standing:
        """Return the policy of ``source`` with the stored roles and users; none without a database.

        ``kind`` is that of ``standing_of``.
        """
        policy = await self.policy(source)
        if self.database is None:
            return await standing_of(policy, None)
        async with self.database.snapshot(within=READ_WITHIN) as connection:
            return await standing_of(policy, connection, await self.instant(connection), kind=kind)


def review_one(
    options: Namespace, environ: Mapping[str, str], do: Callable[[Review, Source], Coroutine[Any, Any, T]]
) -> Answered[T]:
    """Return the result of ``do`` for the policy named by ``--policy``; raises as ``review``."""
    return review(options, environ, (options.policy,), lambda policies, sources: do(policies, sources[0]))


def review(
    options: Namespace,
    environ: Mapping[str, str],
    names: tuple[str | None, ...],
    do: Callable[[Review, tuple[Source, ...]], Coroutine[Any, Any, T]],
    *,
    roles: bool = True,
) -> Answered[T]:
    """Return the result of ``do`` for the sources ``names``.

    None names the policy in force if there is an installation, otherwise that of the files. With an
    installation and ``roles``, roles and users are always available. Stores are used only if needed. Raises
    ``NoInstallationError`` if ``--data`` or a name needs an installation, ``PolicyError``, ``SchemaError``
    and ``Unavailable``, and the exceptions of ``do``.
    """
    settings = table.load(environ)
    installed = installation.is_there(settings)
    sources = tuple(source_named(name or (LIVE if installed else SHIPPED)) for name in names)
    at = getattr(options, "at", None)
    policies = Review(PastPolicies(configured(settings), seals_of(settings.oplog)), None, at)
    stored = any(source.stored for source in sources)
    if stored or options.data or (installed and roles):
        with reachable(settings) as reached:
            answer = with_database(
                reached, lambda database: do(replace(policies, database=database), sources)
            )
    else:
        answer = asyncio.run(do(policies, sources))
    name = installation.name_of(settings) if installed else None
    read = [_described(source, policies.revisions.get(source.name), name) for source in sources]
    if name is None and (roles or None in names):
        read.append(f"there is no installation in {settings.server.data}")
    elif name is not None and roles and not stored:
        read.append(f"roles and users of {name}")
    return Answered(answer, "; ".join(dict.fromkeys(read)))


def _described(source: Source, revision: int | None, name: str | None) -> str:
    """Return a description of a source; ``name`` is that of the installation."""
    if source.folder is not None:
        return f"the files in {source.folder}"
    if not source.stored:
        return "the policy files, without registered resources"
    if source.revision is not None:
        return f"revision {source.revision} of {name}"
    return f"the policy in force of {name}" + (f", revision {revision}" if revision else "")


def unserved(registered_by: Sequence[str]) -> list[str]:
    """Return the lines about a request without a route; ``registered_by`` as in ``explain``."""
    return [
        "No route of this service serves it, so no one is allowed.",
        *(f"The service {name} has registered it: use --service {name}." for name in registered_by),
    ]


def opened_log(name: str) -> AbstractContextManager[IO[bytes]]:
    """Open the decision log ``name`` for reading; ``-`` is standard input.

    Raises ValidationFailed if it cannot be opened.
    """
    if name == "-":
        return nullcontext(sys.stdin.buffer)
    try:
        return Path(name).open("rb")
    except OSError as error:
        raise ValidationFailed(("LOG", sentence("log_unreadable", error=error.strerror))) from None


def gains_and_losses(gains: Sequence[AccessChange], loses: Sequence[AccessChange]) -> Iterator[str]:
    """Yield a line for each role and request, ``+`` for a gain and ``-`` for a loss."""
    if not gains and not loses:
        yield "No access is gained or lost."
    yield from (
        f"{sign} {change.role_code or 'no role'} ({counted(change.users, 'user')})  {name}"
        for sign, changes in (("-", loses), ("+", gains))
        for change in changes
        for name in change.access
    )
