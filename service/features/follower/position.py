"""The position of a follower: what the hub has sent to it, and by what it decides."""

import re
from typing import Final

import msgspec
from msgspec import Struct

from service.features.follower import protocol
from service.features.follower.store import FIRST

_REVOKED: Final = re.compile(r"([0-9]{1,20}-[0-9]{1,20}(,[0-9]{1,20}-[0-9]{1,20})*)?")


class Decided(Struct, array_like=True, frozen=True):
    """The basis of a follower's decisions: a revision, a snapshot of the rights, and a revocation place."""

    revision: int = 0
    rights: str = ""
    revoked: str = ""


class Position(Struct, array_like=True, frozen=True):
    """The state of a follower; all data visible in the snapshot ``rights`` is there, None for none.

    While the follower reads missing data in parts, ``towards`` is the target snapshot, and ``noun`` and
    ``id`` are the progress. ``before`` is the basis of its decisions until the last part, None if this
    position is the basis. ``checked`` is the progress of the comparison of rights. ``revoked_since`` is the
    time, by the hub, at which all revocations were last sent. ``acting`` is the switch of all agents as it
    was last sent; None for a follower without agents.
    """

    scope: str = ""
    revision: int = 0
    own_digest: str = ""
    bits: str = ""
    restore_epoch: str = ""
    timeline: str = ""
    rights: str | None = None
    towards: str | None = None
    noun: str = ""
    id: int = 0
    revoked: str | None = None
    before: Decided | None = None
    checked: tuple[str, int] = FIRST
    revoked_since: float = 0.0
    acting: bool | None = None

    @property
    def decided(self) -> Decided:
        """Return the basis of decisions at this position."""
        return self.before or Decided(self.revision, self.rights or "", self.revoked or "")


NOWHERE: Final = Position()


def position_in(position: str | None) -> Position:
    """Parse a position issued by the hub; an invalid one becomes the start, which sends all data."""
    try:
        read = NOWHERE if position is None else msgspec.json.decode(position, type=Position)
    except msgspec.MsgspecError:
        return NOWHERE
    decided = read.decided
    given = (
        snapshot for snapshot in (read.rights, read.towards, decided.rights or None) if snapshot is not None
    )
    revoked = (read.revoked or "", decided.revoked)
    good = all(map(protocol.is_snapshot, given)) and all(map(_REVOKED.fullmatch, revoked))
    return read if good else NOWHERE
