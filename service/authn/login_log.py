"""The entries of the login log: what happened to a user's sessions, and the client that caused it."""

from collections import Counter
from collections.abc import Callable
from typing import Final, get_args

from service.errors import InternalError, Refusal
from service.kernel.origin import ORIGIN
from service.kernel.user_agents import describe
from service.records.logs.events import LoginEvent, Outcome, SessionEvent

MAX_USER_AGENT = 512


Record = Callable[[LoginEvent], None]
"""Takes an entry; never blocks, never raises."""


_COUNTED: Final = [event for event in get_args(SessionEvent) if event not in ("login", "refresh")]
_REFUSING: Final = ("lockout", "reuse")  # events that are failures themselves


class LoginLog:
    """Makes entries and passes them to ``record``.

    The user of an entry is the affected one. Entries of users' own acts have address, User-Agent, browser and
    system. Entries of acts by others have the request id only, under which the operation log names the actor.
    """

    def __init__(self, record: Record) -> None:
        self._record = record
        self.counts = Counter(dict.fromkeys(_COUNTED, 0))
        """Numbers of events of sessions; logins and refreshes are counted where they are decided."""

    def own(
        self,
        event: SessionEvent,
        user_id: int | None,
        user_name: str | None,
        device: str | None,
        *,
        reason: str | None = None,
        outcome: Outcome = "success",
    ) -> None:
        """Record an act of a user or its outcome; None stands for unknown values."""
        if event in self.counts and (outcome == "success" or event in _REFUSING):
            self.counts[event] += 1
        origin = ORIGIN.get()
        agent = origin.user_agent if origin else ""
        browser, system = describe(agent) if agent else ("", "")
        self._record(
            LoginEvent(
                event=event,
                outcome=outcome,
                reason=reason,
                user_id=user_id,
                user_name=user_name,
                device=device,
                login_ip=origin.address or None if origin else None,
                user_agent=agent or None,
                browser=browser or None,
                os=system or None,
                request_id=origin.request_id if origin else None,
                trace_id=origin.trace_id or None if origin else None,
            )
        )

    def by_other(
        self,
        event: SessionEvent,
        user_id: int,
        user_name: str | None,
        device: str | None = None,
        *,
        reason: str | None = None,
    ) -> None:
        """Record an act of another user on a user; ``device`` if it concerns one session."""
        self.counts[event] += 1
        origin = ORIGIN.get()
        self._record(
            LoginEvent(
                event=event,
                outcome="success",
                reason=reason,
                user_id=user_id,
                user_name=user_name,
                device=device,
                request_id=origin.request_id if origin else None,
                trace_id=origin.trace_id or None if origin else None,
            )
        )


UNRECORDED: Final = LoginLog(lambda _event: None)
"""A log that drops its entries, for programs without a login log."""


def reason_of(error: Exception) -> str:
    """Return the code of a refusal; ``internal_error`` for any other exception."""
    return error.code if isinstance(error, Refusal) else InternalError.code
