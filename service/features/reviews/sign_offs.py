"""Eligibility for sign-offs: only a person who made none of the changes may sign a revision off."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from service.administration.people import People, reason_of
from service.features.reviews import store_sign_offs as sign_offs
from service.kernel.coded_sentences import Sentence
from service.records.database.transactions import Connection
from service.records.published import policy_revisions


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SignOffs:
    """Checks who may sign a revision off. ``now`` is the session store's time."""

    people: People
    now: Callable[[], datetime]

    async def same_person(self, connection: Connection, revision: int, user_id: int) -> Sentence | None:
        """Return why the user counts as the same person as an author of the changes; None if not.

        The changes count from the last earlier signed-off revision. Only the authors and the user take part.
        """
        makers = await self.authors(connection, revision)
        persons = await self.people.of(connection, {*makers, user_id}, self.now())
        same = persons.same_as_one_of(user_id, sorted(makers))
        return None if same is None else await reason_of(connection, same)

    async def authors(self, connection: Connection, revision: int) -> set[int]:
        """Return the ids of the authors of the changes since the last earlier signed-off revision."""
        since = await sign_offs.last_before(connection, revision)
        return await policy_revisions.authors(connection, since, revision)
