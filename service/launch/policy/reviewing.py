"""Opens what a command reviews: policies from their sources, and the database if one is needed."""

from __future__ import annotations

import asyncio
from argparse import Namespace
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from service import settings as table
from service.authz.engine.policy import Policy
from service.authz.publishing.shipped import Shipped, configured
from service.authz.review.impact import Standing
from service.authz.review.sources import Source, read_policy, source_named, standing_of
from service.launch.database import with_database
from service.launch.stores import reachable
from service.records.database.transactions import Database

T = TypeVar("T")

_WITHIN = 60.0  # seconds for reading roles and users; a hundred thousand users take some tenths of one


@dataclass(frozen=True, slots=True)
class Review:
    """What a command may ask: the own part of this node, and the database; None if no store is used."""

    shipped: Shipped
    database: Database | None

    async def policy(self, source: Source) -> Policy:
        """Return the policy of ``source``; PolicyError and Unavailable."""
        return await read_policy(source, self.shipped, self.database)

    async def standing(self, source: Source) -> Standing:
        """Return the policy of ``source`` with the stored roles and users; none without a database."""
        policy = await self.policy(source)
        if self.database is None:
            return await standing_of(policy, None)
        async with self.database.snapshot(within=_WITHIN) as connection:
            return await standing_of(policy, connection)


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
    shipped = configured(settings.policy)
    if not (settings.database.url or options.data or any(source.stored for source in sources)):
        return asyncio.run(do(Review(shipped, None), sources))
    with reachable(settings) as found:
        return with_database(found, lambda database: do(Review(shipped, database), sources))
