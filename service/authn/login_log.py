"""The entries of the login log: what happened to whose session, and where it came from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal

from service.authn.agents import describe
from service.errors import InternalError, Refusal
from service.kernel.origin import ORIGIN
from service.records.logs.login_events import LoginEvent

Record = Callable[[LoginEvent], None]
"""Takes an entry; neither waits nor fails."""

Outcome = Literal["success", "failure"]


class LoginLog:
    """Makes entries and hands them to ``record``.

    The user of an entry is the one to whom it happened. Address, User-Agent, browser and system are told of
    what users do themselves; of what others do to them only the request id is, under which the operation log
    says who that was.
    """

    def __init__(self, record: Record) -> None:
        self._record = record

    def own(
        self,
        event: str,
        user_id: int | None,
        user_name: str | None,
        device: str | None,
        *,
        reason: str | None = None,
        outcome: Outcome = "success",
    ) -> None:
        """Enter what a user has done, or what has come of it; None is what is not known."""
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
            )
        )

    def by_other(
        self,
        event: str,
        user_id: int,
        user_name: str | None,
        device: str | None = None,
        *,
        reason: str | None = None,
    ) -> None:
        """Enter what somebody else has done to a user; ``device`` when it concerns one session."""
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
            )
        )


UNRECORDED: Final = LoginLog(lambda _event: None)
"""For whoever keeps no login log."""


def reason_of(error: Exception) -> str:
    """Return the code of a refusal; what is none is a fault of the service."""
    return error.code if isinstance(error, Refusal) else InternalError.code
