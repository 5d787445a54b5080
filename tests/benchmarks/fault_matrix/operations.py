"""The operations of a fault matrix, each with a twin that must be refused, and a look at what was lost."""

import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterable

from tests.benchmarks.fault_matrix.calls import Caller, Intruders, Reply
from tests.support.seeded import ADMINISTRATOR

BOUND = 2.0
"""Seconds: ``database.timeout``, the longest of the three stores' in the matrix."""


class Operation(ABC):
    """One thing that clients do again and again; ``attempt`` and ``trespass`` may run side by side.

    ``name`` stands in the table; ``bound`` is the longest documented wait in seconds for an answer
    while a store is silent, ``bound_of_work`` the same for a call in whose middle the store falls silent.
    ``is_write`` tells whether a success is an acknowledged write, ``has_session`` whether it needs a session.
    """

    name: str
    bound: float = BOUND
    bound_of_work: float = 2 * BOUND
    is_write = False
    has_session = True

    def __init__(self, url: str, intruders: Intruders) -> None:
        self._caller = Caller(url)
        self._other = Caller(url)  # of the trespasses
        self.intruders = intruders
        self._turns = itertools.count()

    @abstractmethod
    def attempt(self) -> Reply:
        """Do it once, as somebody who may."""

    @abstractmethod
    def trespass(self) -> Reply:
        """Try it once as somebody who may not: each success is a wrong allow."""

    @abstractmethod
    def renew(self) -> None:
        """Try to get a new session."""

    def lost(self) -> int:
        """Count the acknowledged writes that are gone; once the store works again."""
        return 0

    def forget(self) -> None:  # noqa: B027 - reads have nothing to forget
        """Drop the sessions that were acknowledged: their store was emptied on purpose."""

    def reconnect(self) -> None:
        """Go on over new connections."""
        self._caller.reconnect()
        self._other.reconnect()

    def close(self) -> None:
        """Close the connections."""
        self._caller.close()
        self._other.close()


class Administered(Operation):
    """An operation of the administrator, who has a session for each of them."""

    device: str

    def __init__(self, url: str, intruders: Intruders) -> None:
        super().__init__(url, intruders)
        self._token = ""
        self.renew()

    def renew(self) -> None:
        """Log in again."""
        reply = self._caller.log_in(ADMINISTRATOR, self.device)
        if reply.is_success:
            self._token = reply.json["data"]["accessToken"]

    def attempt(self) -> Reply:
        """Do it as the administrator."""
        return self.act(self._caller, self._token)

    def trespass(self) -> Reply:
        """Try it with each token that opens nothing, in turn."""
        tokens = (self.intruders.powerless, self.intruders.kicked, self.intruders.banned)
        return self.act(self._other, tokens[next(self._turns) % len(tokens)], wrong=True)

    @abstractmethod
    def act(self, caller: Caller, token: str, *, wrong: bool = False) -> Reply:
        """Do it with ``token``; ``wrong`` for a trespass, whose success is not to be counted on."""


class GuardedRead(Administered):
    """A page of a list."""

    name, device = "guarded read", "reader"

    def act(self, caller: Caller, token: str, *, wrong: bool = False) -> Reply:  # noqa: ARG002 - a read
        """Read the list of roles."""
        return caller.ask("GET", "/api/role/list", token=token)


class Export(Administered):
    """A file made of rows of the log."""

    name, device, bound_of_work = "export", "exporter", 30.0

    def act(self, caller: Caller, token: str, *, wrong: bool = False) -> Reply:  # noqa: ARG002 - a read
        """Export some rows."""
        return caller.ask("GET", "/api/operation-log/export?limit=100", token=token)


class LogIn(Operation):
    """A login, each on a device of its own."""

    name, is_write, has_session = "login", True, False
    bound = 3.0  # it asks the session store three times, each within redis.timeout

    def __init__(self, url: str, intruders: Intruders) -> None:
        super().__init__(url, intruders)
        self._tokens: list[str] = []

    def attempt(self) -> Reply:
        """Log in."""
        reply = self._caller.log_in("opener", f"d{next(self._turns)}")
        if reply.is_success:
            self._tokens.append(reply.json["data"]["accessToken"])
        return reply

    def trespass(self) -> Reply:
        """Log in as a banned user with the right password."""
        return self._other.log_in("banned")

    def renew(self) -> None:
        """Need no session."""

    def lost(self) -> int:
        """Count the sessions that do not work."""
        replies = [self._caller.ask("GET", "/api/user/info", token=token) for token in self._tokens]
        self._tokens.clear()
        return sum(not reply.is_success for reply in replies)

    def forget(self) -> None:
        """Drop the sessions."""
        self._tokens.clear()


class RefreshPair(Operation):
    """A refresh, again and again with the token of the last one; what was not answered is repeated."""

    name, is_write = "refresh", True

    def __init__(self, url: str, intruders: Intruders, user_name: str) -> None:
        super().__init__(url, intruders)
        self._user_name = user_name
        self._refresh_token = ""
        self._access_token = ""
        self.renew()

    def attempt(self) -> Reply:
        """Refresh, with the same token as before unless that was answered."""
        reply = self._caller.refresh(self._refresh_token)
        if reply.is_success:
            self._keep(reply)
        return reply

    def trespass(self) -> Reply:
        """Refresh with the token of a banned user, and with a spent one."""
        tokens = (self.intruders.banned_refresh, self.intruders.spent)
        return self._other.refresh(tokens[next(self._turns) % 2])

    def renew(self) -> None:
        """Log in again."""
        reply = self._caller.log_in(self._user_name)
        if reply.is_success:
            self._keep(reply)

    def lost(self) -> int:
        """Tell whether the session that was renewed last is gone."""
        return int(not self._caller.ask("GET", "/api/user/info", token=self._access_token).is_success)

    def _keep(self, reply: Reply) -> None:
        self._refresh_token = reply.json["data"]["refreshToken"]
        self._access_token = reply.json["data"]["accessToken"]


def missing(acknowledged: Iterable[object], stored: Iterable[object]) -> int:
    """Count what was acknowledged and is not stored."""
    return len(set(acknowledged) - set(stored))
