"""The session of an event stream, and its end."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import msgspec
from msgspec import MsgspecError, Struct

from service.kernel.identity import Caller
from service.keyspace import BANNED, Answer, KeyPair

EndReason: TypeAlias = Literal["session_ended", "account_unusable"]
"""The reason of the end of a stream; after both, no stream of this session can be opened again."""


class _Session(Struct):
    login_time: float
    sid: str = ""


_decoded = msgspec.json.Decoder(_Session)


@dataclass(slots=True)
class StreamSession:
    """The device session that a stream belongs to: the one that the token of its request was issued in.

    It outlives the token. Another login on the device begins another session. ``sid`` is its name, None
    before the first answer of the session store; ``known`` is what the store said last.
    """

    user_id: int
    login_id: str
    device: str
    issued_at: float
    keys: KeyPair
    sid: str | None = None
    known: bytes | None = None

    @classmethod
    def of(cls, caller: Caller, keys: KeyPair) -> "StreamSession":
        """Return the session of a caller who was admitted with a token; ``keys`` are those of its check."""
        return cls(caller.user_id, caller.login_id, caller.device, caller.issued_at, keys)

    def end_of(self, answer: Answer) -> EndReason | None:
        """Return why the session has ended; None if it has not, as of ``answer`` of the session store."""
        if answer.marker == BANNED:
            return "account_unusable"
        if answer.value is None:
            return "session_ended"
        if answer.value == self.known:
            return None
        try:
            session = _decoded.decode(answer.value)
        except MsgspecError:
            return "session_ended"
        if self.sid is None:
            if round(1000 * session.login_time) > round(1000 * self.issued_at):
                return "session_ended"
            self.sid = session.sid
        self.known = answer.value
        return None if session.sid == self.sid else "session_ended"
