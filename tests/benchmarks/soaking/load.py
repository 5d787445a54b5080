"""The mixed load of a soak: a thread for each kind of work, at a pace that any machine keeps."""

import threading
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

import psycopg

from tests.benchmarks.fault_matrix.calls import (
    RENEWERS,
    Caller,
    Intruders,
    Reply,
    make_intruders,
    make_people,
)
from tests.benchmarks.fault_matrix.operations import (
    Administered,
    Export,
    GuardedRead,
    LogIn,
    Operation,
    RefreshPair,
)
from tests.benchmarks.fault_matrix.writes import PNG, Bind
from tests.support.members import USER

RENEWED_AFTER = 40.0
"""Seconds after which an administrator logs in again: before the access token ends."""
_REFUSED = {401, 403}
_TURNS_PER_CONNECTION = 20
_GUEST = "guest"


class Read(GuardedRead):
    """A page of a list, by one of several administrators' sessions."""

    def __init__(self, url: str, intruders: Intruders, device: str) -> None:
        self.device = device
        super().__init__(url, intruders)


class LogList(Administered):
    """Pages of both logs."""

    name, device = "log list", "auditor"

    def act(self, caller: Caller, token: str, *, wrong: bool = False) -> Reply:  # noqa: ARG002 - a read
        """Read a page of one of the logs."""
        log = ("operation-log", "login-log")[next(self._turns) % 2]
        return caller.ask("GET", f"/api/{log}/list?size=50", token=token)


class RoleLife(Administered):
    """A role that is created and deleted."""

    name, device = "role write", "roles"

    def act(self, caller: Caller, token: str, *, wrong: bool = False) -> Reply:  # noqa: ARG002 - nothing is kept
        """Create a role, and delete it."""
        code = f"soak-{time.monotonic_ns()}"
        made = caller.ask("POST", "/api/role", {"roleName": code, "roleCode": code}, token=token)
        if not made.is_success:
            return made
        return caller.ask("DELETE", f"/api/role/{made.json['data']['id']}", token=token)


class FileLife(Administered):
    """A file that is uploaded, read and deleted."""

    name, device = "file", "uploader"

    def act(self, caller: Caller, token: str, *, wrong: bool = False) -> Reply:  # noqa: ARG002 - nothing is kept
        """Upload 64 KiB, read them and delete the file."""
        made = caller.ask("POST", "/api/file", token=token, file=PNG + bytes(65_536))
        if not made.is_success:
            return made
        target = f"/api/file/{made.json['data']['id']}"
        read = caller.ask("GET", target, token=token)
        return caller.ask("DELETE", target, token=token) if read.is_success else read


class Kick(Administered):
    """A user who logs in and is kicked."""

    name, device = "kick", "kicker"

    def __init__(self, url: str, intruders: Intruders, user_id: int) -> None:
        self._user_id = user_id
        super().__init__(url, intruders)

    def act(self, caller: Caller, token: str, *, wrong: bool = False) -> Reply:  # noqa: ARG002 - nothing is kept
        """Log the guest in, and end the session."""
        opened = caller.log_in(_GUEST)
        if not opened.is_success:
            return opened
        return caller.ask("DELETE", f"/api/online/{self._user_id}", token=token)


class Load:
    """Threads that work until they are stopped, and the count of what they were answered.

    ``unexpected`` counts by operation and status the turns that did not succeed, and the trespasses that were
    answered anything but 401 or 403.
    """

    def __init__(self, url: str, database_url: str) -> None:
        make_people(database_url)
        with psycopg.connect(database_url) as connection:
            row = connection.execute(USER.encode(), (_GUEST,) * 3).fetchone()
        assert row is not None
        self._caller = Caller(url)
        self._intruders = make_intruders(self._caller, database_url)
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self.turns: Counter[str] = Counter()
        self.unexpected: Counter[str] = Counter()
        self._threads = [
            threading.Thread(target=self._work, args=(operation, pause), daemon=True)
            for operation, pause in self._operations(url, database_url, row[0])
        ]

    def start(self) -> None:
        """Begin."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """End what is under way, and begin nothing more."""
        self._stopping.set()
        for thread in self._threads:
            thread.join(60)
        self._caller.close()

    def renew(self) -> None:
        """Log the user without rights in again, whose token ends."""
        reply = self._caller.log_in("powerless")
        if reply.is_success:
            self._intruders = replace(self._intruders, powerless=reply.json["data"]["accessToken"])

    def _operations(self, url: str, database_url: str, guest: int) -> Iterable[tuple[Operation, float]]:
        """Yield each operation and the seconds between two turns of it."""
        given = url, self._intruders
        yield from ((Read(*given, f"reader{number}"), 0.3 + 0.1 * number) for number in range(4))
        yield from ((RefreshPair(*given, name), 1.5) for name in RENEWERS)
        yield LogIn(*given), 1.0
        yield LogList(*given), 1.0
        yield Export(*given), 5.0
        yield RoleLife(*given), 2.0
        yield FileLife(*given), 2.0
        yield Kick(*given, guest), 3.0
        yield Bind(*given, database_url), 6.0

    def _work(self, operation: Operation, pause: float) -> None:
        renewed = time.monotonic()
        turn = 0
        while not self._stopping.wait(pause):
            turn += 1
            if time.monotonic() - renewed > RENEWED_AFTER and not isinstance(operation, RefreshPair):
                operation.renew()
                renewed = time.monotonic()
            if turn % _TURNS_PER_CONNECTION == 0:
                operation.reconnect()
                operation.forget()
            operation.intruders = self._intruders
            done, refused = operation.attempt(), operation.trespass()
            wrong = [] if done.is_success else [f"{operation.name}: {done.status}"]
            wrong += (
                [] if refused.status in _REFUSED else [f"{operation.name}, not allowed: {refused.status}"]
            )
            with self._lock:
                self.turns[operation.name] += 1
                self.unexpected.update(wrong)


def count_lines(counts: Counter[str]) -> Sequence[str]:
    """Return a line for each count, the highest first."""
    return [f"{count} x {name}" for name, count in counts.most_common()]
