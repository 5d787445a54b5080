"""Opens what a command reviews: policies from their sources, and the database if one is needed."""

import asyncio
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Coroutine, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypeVar

from service import settings as table
from service.audit.chain.seals import seals_of
from service.authz.engine.policy import Policy
from service.authz.lint.model import require_grammar
from service.authz.publishing.shipped import configured
from service.authz.review.impact import Standing
from service.authz.review.sources import (
    LIVE,
    NAMES,
    READ_WITHIN,
    PastPolicies,
    Source,
    read_folder,
    read_policy,
    source_named,
    standing_of,
)
from service.cli.lazy_commands import add_data, add_json
from service.errors import ValidationFailed
from service.operator.stores import reachable, with_database
from service.records.database.transactions import Database

T = TypeVar("T")


def add_review(parser: ArgumentParser) -> None:
    """Add ``--policy``, ``--data`` and ``--json``, for a question about one policy."""
    parser.add_argument("--policy", metavar="SOURCE", default=LIVE, help=f"{NAMES}; {LIVE} by default")
    add_data(parser)
    add_json(parser)


@dataclass(frozen=True, slots=True)
class Review:
    """What a command may ask: policies with this node's static policy, and the database; None without."""

    past: PastPolicies
    database: Database | None

    async def policy(self, source: Source) -> Policy:
        """Return the policy of ``source``; PolicyError and Unavailable."""
        return await read_policy(source, self.past, self.database)

    async def proposed(self, source: Source) -> Policy:
        """Return the policy of ``source``; a folder's model may lack rows, since nobody decides by it."""
        if source.folder is None:
            return await self.policy(source)
        return await asyncio.to_thread(read_folder, source.folder, require_grammar)

    async def standing(self, source: Source) -> Standing:
        """Return the policy of ``source`` with the stored roles and users; none without a database."""
        policy = await self.policy(source)
        if self.database is None:
            return await standing_of(policy, None)
        async with self.database.snapshot(within=READ_WITHIN) as connection:
            return await standing_of(policy, connection)


def review_one(
    options: Namespace, environ: Mapping[str, str], do: Callable[[Review, Source], Coroutine[Any, Any, T]]
) -> T:
    """Return what ``do`` returns about the policy that ``--policy`` names; raises what ``review`` raises."""
    return review(options, environ, (options.policy,), lambda policies, sources: do(policies, sources[0]))


def review(
    options: Namespace,
    environ: Mapping[str, str],
    names: tuple[str, ...],
    do: Callable[[Review, tuple[Source, ...]], Coroutine[Any, Any, T]],
) -> T:
    """Return what ``do`` returns about the sources that ``names`` name.

    The database is opened if a source is stored in it, and if ``--data`` or the settings name one, so that
    roles and users are known. Otherwise no store is touched. Raises ``PolicyError``, ``SchemaError`` and
    ``Unavailable``, and what ``do`` raises.
    """
    settings = table.load(environ)
    sources = tuple(map(source_named, names))
    past = PastPolicies(configured(settings.policy), seals_of(settings.oplog))
    if not (settings.database.url or options.data or any(source.stored for source in sources)):
        return asyncio.run(do(Review(past, None), sources))
    with reachable(settings) as reached:
        return with_database(reached, lambda database: do(Review(past, database), sources))


def opened_log(name: str) -> AbstractContextManager[IO[bytes]]:
    """Return the decision log ``name`` to read from, ``-`` for standard input.

    ValidationFailed if there is none.
    """
    if name == "-":
        return nullcontext(sys.stdin.buffer)
    try:
        return Path(name).open("rb")
    except OSError as error:
        raise ValidationFailed(("LOG", f"can't be read: {error.strerror}")) from None
