"""Rights as followers are sent them: changed users with their delegations, roles and keys."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from service.features.follower import protocol
from service.features.follower import store as rights_changes
from service.features.follower.position import Position
from service.features.follower.protocol import Checked
from service.features.follower.store import FIRST, Concerned, Place
from service.records.database.transactions import Connection
from service.records.followed_delegations import FollowedDelegations, ReadDelegations

_CHECKED: Final = 200
"""Records compared per answer; a hundred thousand users thus take about ten minutes."""


@dataclass(frozen=True, slots=True)
class ChangedRights:
    """Users, roles and keys that were read, and the position reached with them.

    ``delegated`` are the agents and the delegations of the users; None if none are sent.
    """

    concerned: list[Concerned]
    stored: rights_changes.Records
    delegated: FollowedDelegations | None
    base: str | None
    towards: str | None
    after: Concerned

    @classmethod
    async def read(
        cls, connection: Connection, position: Position, place: Place, read: ReadDelegations | None
    ) -> "ChangedRights | None":
        """Return the next part of the changes since ``position``; None if all data has changed."""
        most, after = protocol.MOST_RECORDS, Concerned(position.noun, position.id)
        concerned = await rights_changes.concerned(connection, position.rights, after, most + 1)
        if position.rights is not None and any(each.noun == rights_changes.ALL for each in concerned):
            return None
        more, concerned = len(concerned) > most, concerned[:most]
        stored = await rights_changes.records(connection, concerned)
        delegated = None if read is None else await read(connection, [user.id for user in stored.users])
        towards = position.towards or place.snapshot
        if more:
            return cls(concerned, stored, delegated, position.rights, towards, concerned[-1])
        return cls(concerned, stored, delegated, towards, None, FIRST)

    @property
    def acting(self) -> bool | None:
        """Return the switch of all agents; None if none are sent."""
        return None if self.delegated is None else self.delegated.all_enabled

    def records(self, names: bytes) -> Mapping[str, Any]:
        """Return the members of an answer."""
        shown = _shown(self.stored, names)
        of_noun = {
            noun: [record for (its_noun, _), record in shown.items() if its_noun == noun]
            for noun in ("key", "role", "user")
        }
        gone = [tuple(each) for each in self.concerned if each not in shown]
        agents, delegations = _delegated(self.delegated)
        members = {"gone": gone, "agents": agents, "delegations": delegations}
        return {f"{noun}s": records for noun, records in of_noun.items()} | members


def _shown(stored: rights_changes.Records, names: bytes) -> dict[tuple[str, int], protocol.Record]:
    """Return the records in the form of the protocol, by noun and id."""
    keys, roles, users = stored
    shown: dict[tuple[str, int], protocol.Record] = {}
    for key in keys:
        shown["key", key.id] = protocol.KeyRecord(key.id, key.user_id, _tuple(key.scopes), key.ends)
    for role in roles:
        shown["role", role.id] = protocol.RoleRecord(role.id, tuple(role.codes or ()))
    for user in users:
        shown["user", user.id] = _user(user, names)
    return shown


def _delegated(
    rows: FollowedDelegations | None,
) -> tuple[list[protocol.AgentRecord], list[protocol.DelegationRecord]]:
    """Return agents and delegations in the form of the protocol."""
    if rows is None:
        return [], []
    agents = [protocol.AgentRecord(*row) for row in rows.agents]
    delegations = [
        protocol.DelegationRecord(
            row.id,
            row.user_id,
            row.agent_id,
            tuple(row.codes),
            tuple(row.ask_me),
            tuple(row.services),
            row.until,
        )
        for row in rows.delegations
    ]
    return agents, delegations


async def checked(
    connection: Connection, position: Position, names: bytes, read: ReadDelegations | None
) -> Checked:
    """Return the digest of the next records after those compared last; the first ones after the end."""
    after = Concerned(*position.checked)
    records = await rights_changes.behind(connection, after, _CHECKED)
    shown = _shown(await rights_changes.records(connection, records), names)
    in_order = [shown[each] for each in records if each in shown]
    last = records[-1] if len(records) == _CHECKED else None
    acting = None
    if read is not None:
        users = [each.id for each in records if each.noun == "user"]
        agents, delegations = _delegated(await read(connection, users))
        acting = protocol.rights_digest((*agents, *delegations))
    return Checked(after, last, protocol.rights_digest(in_order), acting)


def _user(user: rights_changes.UserRow, names: bytes) -> protocol.UserRecord:
    return protocol.UserRecord(
        user.id,
        user.enabled,
        user.is_service,
        user.service,
        -1.0 if user.banned_until == float("inf") else user.banned_until,  # -1 has another digest
        protocol.name_digest(user.name_key, names),
        user.service_name,
        tuple(user.roles),
        tuple(protocol.Window(*window) for window in user.windows or ()),
    )


def _tuple(scopes: list[str] | None) -> tuple[str, ...] | None:
    return None if scopes is None else tuple(scopes)
