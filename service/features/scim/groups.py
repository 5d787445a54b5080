"""Groups provisioned by a directory through SCIM: members get the roles of its mapping."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Final

from service.administration import change_log
from service.administration.unit_of_work import RightsUnits, UnitOfWork
from service.errors import Conflict, NotFound, ValidationFailed
from service.features.directories.directory import Directories
from service.features.directories.managed import target_of
from service.features.directories.schema import Directory
from service.features.scim import store as scim
from service.features.scim.attributes import id_of
from service.features.scim.sentences import sentence
from service.features.scim.store import Group
from service.features.scim.users import source_of
from service.kernel.origin import values_change
from service.kernel.write import Write
from service.records.database.transactions import Connection, Database

WITHIN: Final = 60.0
"""The maximum duration in seconds of a group edit, including the roles of all members."""


_NAMED, _LONGEST = 10, 64  # refused members named in a refusal, and the characters of each


@dataclass(frozen=True, slots=True)
class SentGroup:
    """A group as sent by the client: ``members`` are the ids of all its users."""

    display_name: str
    external_id: str | None = None
    members: frozenset[str] = frozenset()

    def is_stored(self, stored: Group) -> bool:
        """Return whether the stored group has all these values already."""
        names = (self.display_name, self.external_id) == (stored.display_name, stored.external_id)
        return names and self.members == {str(user_id) for user_id, _ in stored.members}


Change = Callable[[Group], SentGroup]
"""Returns the new values of a stored group; an exception rolls the change back."""
Match = Callable[[Group], None]
"""Raises ``PreconditionFailed`` if the group has changed since the client read it."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ScimGroups:
    """Provisions groups. All methods raise ``Conflict`` as ``source_of`` does, and ``RightsUnits`` errors."""

    database: Database
    units: RightsUnits
    sources: Directories

    async def create(self, write: Write, sent: SentGroup) -> Group:
        """Create a group.

        Raises ``ValidationFailed`` for unknown members and ``Conflict`` for a name in use.
        """
        async with self.units.of_rights(write, within=WITHIN, pace="bulk") as unit:
            source = await source_of(unit.connection, write.caller)
            await _require_free(unit.connection, source, sent.display_name)
            members = await _members(unit.connection, source, sent.members)
            names = sent.display_name, sent.external_id
            group_id = await scim.create_group(unit.connection, source.name, *names)
            await scim.change_members(unit.connection, group_id, members, ())
            _tell(unit, source, sent.display_name, members, ())
            await self._follow(unit, source, {sent.display_name}, members)
            return await _read(unit.connection, source, group_id)

    async def update(self, write: Write, group_id: int, change: Change, match: Match) -> Group:
        """Change a group to the values that ``change`` returns; write nothing if they are stored already.

        A user who leaves the group loses its roles. Raises ``NotFound``, and what ``create`` raises.
        """
        async with self.database.snapshot() as connection:
            before = await _read(connection, await source_of(connection, write.caller), group_id)
        match(before)
        sent = change(before)
        if sent.is_stored(before):
            return before  # without a lock: directories often repeat the same request
        async with self.units.of_rights(write, within=WITHIN, pace="bulk") as unit:
            source = await source_of(unit.connection, write.caller)
            stored = await _read(unit.connection, source, group_id)
            if stored != before:
                match(stored)
                before, sent = stored, change(stored)
            had = {user_id for user_id, _ in before.members}
            members = await _members(unit.connection, source, sent.members, had)
            added, removed = members - had, had - members
            renamed = sent.display_name != before.display_name
            if renamed:
                await _require_free(unit.connection, source, sent.display_name, group_id)
                names = [before.display_name], [sent.display_name]
                unit.changes += values_change(target_of(source.name), "groups", *names)
            await scim.update_group(unit.connection, group_id, sent.display_name, sent.external_id)
            await scim.change_members(unit.connection, group_id, added, removed)
            _tell(unit, source, sent.display_name, added, removed)
            affected = had | members if renamed else added | removed
            await self._follow(unit, source, {before.display_name, sent.display_name}, affected)
            return await _read(unit.connection, source, group_id)

    async def delete(self, write: Write, group_id: int, match: Match) -> None:
        """Delete a group; its members lose its roles. Raises ``NotFound``."""
        async with self.units.of_rights(write, within=WITHIN, pace="bulk") as unit:
            source = await source_of(unit.connection, write.caller)
            before = await _read(unit.connection, source, group_id)
            match(before)
            members = {user_id for user_id, _ in before.members}
            await scim.delete_group(unit.connection, group_id)
            _tell(unit, source, before.display_name, (), members)
            await self._follow(unit, source, {before.display_name}, members)

    async def _follow(
        self, unit: UnitOfWork, source: Directory, names: Collection[str], user_ids: Collection[int]
    ) -> None:
        """Give the users the roles of their groups, if one of ``names`` gives any."""
        if user_ids and any(source.mapping.get(name) for name in names):
            groups = await scim.groups_of(unit.connection, user_ids)
            await self.sources.follow(unit, source.name, groups)


def _tell(
    unit: UnitOfWork, source: Directory, name: str, added: Collection[int], removed: Collection[int]
) -> None:
    change_log.concerns(target_of(source.name))
    gone, new = (sorted(map(str, user_ids)) for user_ids in (removed, added))
    unit.changes += values_change(target_of(source.name), f"members of {name}", gone, new)


async def _require_free(connection: Connection, source: Directory, name: str, but: int = 0) -> None:
    if await scim.is_taken(connection, source.name, name, but):
        raise Conflict(sentence("group_taken"), rule="unique", field="displayName")


async def _members(
    connection: Connection, source: Directory, sent: Collection[str], had: Collection[int] = ()
) -> set[int]:
    """Return the ids of the members; all must be users of the directory, as earlier members were.

    Raises ValidationFailed otherwise, and for more than ``MOST_MEMBERS``.
    """
    if len(sent) > scim.MOST_MEMBERS:
        raise ValidationFailed(("members", sentence("too_many_members", most=scim.MOST_MEMBERS)))
    numbers = {each: id_of(each) for each in sent}
    ids = {number for number in numbers.values() if number is not None}
    new = ids.difference(had)
    known = {*had, *(await scim.known_users(connection, source.name, new) if new else ())}
    if strangers := sorted(each for each, number in numbers.items() if number not in known):
        raise ValidationFailed(("members", sentence("strangers", users=_named(strangers))))
    return ids


def _named(ids: Sequence[str]) -> str:
    shown = ", ".join(each[:_LONGEST] for each in ids[:_NAMED])
    return shown if len(ids) <= _NAMED else f"{shown} and {len(ids) - _NAMED} more"


async def _read(connection: Connection, source: Directory, group_id: int) -> Group:
    stored = await scim.one_group(connection, source.name, group_id)
    if stored is None:
        raise NotFound(sentence("no_such_group"))
    return stored
