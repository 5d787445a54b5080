"""Assignments of roles with a window, and what may be answered while they begin and end."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field

import psycopg

SLACK = 0.05
"""Seconds by which clocks of the service and of the test may differ: all are of one machine."""

_GIVE = """
INSERT INTO sys.user_role (user_id, role_id, valid_from, valid_until)
VALUES (%s, %s, to_timestamp(%s), to_timestamp(%s))
"""


@dataclass(frozen=True)
class Window:
    """When a right is in force: half-open, in seconds since the epoch."""

    begin: float
    end: float

    def might_hold(self, since: float, until: float) -> bool:
        """Whether it is in force at an instant between the two, give or take ``SLACK``."""
        return self.begin - SLACK <= until and since < self.end + SLACK

    def holds_throughout(self, since: float, until: float) -> bool:
        """Whether it is in force from the first to the second, whatever ``SLACK`` is."""
        return self.begin + SLACK < since and until < self.end - SLACK


@dataclass(frozen=True)
class Answered:
    """An answer that came at ``received`` to what was sent at ``sent``: allowed or not."""

    sent: float
    received: float
    allowed: bool


@dataclass
class Record:
    """The answers about the windows of a right, which do not overlap."""

    windows: Sequence[Window]
    answers: list[Answered] = field(default_factory=list)

    async def ask(self, question: Callable[[], Awaitable[bool]]) -> bool:
        """Ask once, and keep the answer."""
        sent = time.time()
        allowed = await question()
        self.answers.append(Answered(sent, time.time(), allowed))
        return allowed

    def faults(self) -> list[str]:
        """Return the answers that are wrong: by a right not in force, or without one that was."""
        return [fault for answer in self.answers if (fault := self._fault(answer))]

    def _fault(self, answer: Answered) -> str:
        times = answer.sent, answer.received
        near = min((window.begin for window in self.windows), key=lambda begin: abs(begin - answer.sent))
        end = min((window.end for window in self.windows), key=lambda end: abs(end - answer.sent))
        distance = (
            f"sent {answer.sent - near:+.3f} s from a beginning, {answer.sent - end:+.3f} s from an end"
        )
        where = f"{distance}, answered after {answer.received - answer.sent:.3f} s"
        if answer.allowed and not any(window.might_hold(*times) for window in self.windows):
            return f"allowed, {where}"
        if not answer.allowed and any(window.holds_throughout(*times) for window in self.windows):
            return f"denied, {where}"
        return ""

    @property
    def kinds(self) -> tuple[bool, ...]:
        """Whether it was allowed, without repeats: what changed, in order."""
        kinds: list[bool] = []
        for answer in self.answers:
            if not kinds or kinds[-1] is not answer.allowed:
                kinds.append(answer.allowed)
        return tuple(kinds)


async def give_windows(database_url: str, role_id: int, windows: Iterable[tuple[int, Window]]) -> None:
    """Assign a role to users, past the service, before any of them has logged in."""
    async with await psycopg.AsyncConnection.connect(database_url) as connection:
        for user_id, window in windows:
            await connection.execute(_GIVE, (user_id, role_id, window.begin, window.end))


async def repeat(record: Record, question: Callable[[], Awaitable[bool]], *, every: float) -> None:
    """Ask until a little after the end of the window."""
    while time.time() < record.windows[-1].end + 10 * every:
        await record.ask(question)
        await asyncio.sleep(every)
