"""Limits on logins and refreshes, by account and by client address, and on wrong API keys, by address.

Attempts are counted before anything is looked up, so a refusal reveals nothing about the account. Attempts of
unknown devices use up the share of unknown devices only. A device that has logged in to the account before
has a share of its own, so its user gets in during an attack. A session has a share of its own too, for
repeated proofs of its user. Only that session can use it up, and the thief of a session guesses no more than
a stranger.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import lru_cache
from hashlib import sha256
from ipaddress import ip_address, ip_network
from typing import Final

import structlog

from service.errors import RateLimited
from service.kernel.text import name_key
from service.keyspace import Counters
from service.settings import Throttle as Settings

ACCOUNT: Final = "login"
"""The limit on logins to one account."""

FAVOURED_LIFE: Final = 86_400
"""Seconds for which an address is favoured from which a login succeeded."""

SECOND_FACTOR: Final = "second-factor"
"""The limit on second factors of one account."""

_DAY: Final = 86_400  # seconds in which second factors are counted: six digits bear few guesses

KEY_ADDRESS: Final = "key-address"
"""The limit on wrong API keys from one address."""

RESET_ADDRESS: Final = "reset-address"
"""The limit on requests for forgotten passwords from one address."""

ADDRESS_LINK: Final = "address-link"
"""The limit on links by which an account confirms its address: an account could mail any address."""
_LINKS: Final = 10
_HOUR: Final = 3600

LIMITS: Final = (
    *(ACCOUNT, SECOND_FACTOR, "login-address", "refresh", "refresh-address", KEY_ADDRESS),
    *(RESET_ADDRESS, ADDRESS_LINK),
)

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Attempt:
    """A login that was let through; call ``succeeded`` after it succeeds."""

    throttle: Throttle
    limit: str
    _: KW_ONLY
    account: str
    device: str
    share: str
    network: str
    guessed: bool
    """True if the attempt can be guessed, as passwords and codes of apps can."""
    favoured: bool
    """True if a login from this address succeeded within a day: during a flood it goes first."""

    async def succeeded(self) -> None:
        """Remember the device as known and the address as favoured; reset the share of guessable attempts.

        A second factor also resets the count of logins. A password does not reset that of second factors: the
        thief of a password could go on guessing. A proof that cannot be guessed resets nothing: earlier
        attempts of attackers would be given back to them.
        """
        await self.throttle.remember(self.device, self.network)
        if self.guessed:
            await self.throttle.forgive(self.limit, self.account, self.share)


class Throttle:
    """Lets attempts through, or logs and raises ``RateLimited`` with the seconds to wait."""

    def __init__(self, settings: Settings, counters: Counters) -> None:
        self._settings = settings
        self._counters = counters
        self._of_account = {
            ACCOUNT: (settings.login_account, settings.window),
            SECOND_FACTOR: (settings.second_factor, _DAY),
        }
        self.refused = dict.fromkeys(LIMITS, 0)
        """The attempts that were refused, by limit."""

    async def login(
        self, user_name: str, address: str, user_agent: str, *, session: str | None = None
    ) -> Attempt:
        """Count a login, or a password that is proved again in a ``session``, which its device names.

        Raises ``RateLimited`` or ``Unavailable``.
        """
        await self.from_address(address)
        return await self._attempt(ACCOUNT, user_name, address, user_agent, session=session)

    async def from_address(self, address: str) -> None:
        """Count a login, or a step of one, from an address; raises ``RateLimited`` or ``Unavailable``."""
        if self._settings.enabled:
            # Not the name: it may be a password in the wrong field.
            limit = (self._settings.login_address, "login-address", _network(address))
            await self._hit(*limit, address=address)

    async def reset_from(self, address: str) -> None:
        """Count a request for a forgotten password from an address; raises ``RateLimited``, ``Unavailable``.

        Not by account: a stranger would use up the share of the owner.
        """
        if self._settings.enabled:
            limit = (self._settings.reset_address, RESET_ADDRESS, _network(address))
            await self._hit(*limit, window=_HOUR, address=address)

    async def link_for(self, login_id: str) -> None:
        """Count a link that confirms an address of an account; raises ``RateLimited`` or ``Unavailable``."""
        if self._settings.enabled:
            await self._hit(_LINKS, ADDRESS_LINK, login_id, window=_HOUR, login_id=login_id)

    async def second_factor(
        self,
        user_name: str,
        address: str,
        user_agent: str,
        *,
        guessed: bool,
        counted: bool = False,
        session: str | None = None,
    ) -> Attempt:
        """Count a second factor that is tried for an account, if it can be ``guessed``, as six digits can.

        ``counted``: count it even so. ``session`` is that of ``login``. The address was counted before.
        Raises ``RateLimited`` or ``Unavailable``.
        """
        counts = {"guessed": guessed, "counted": counted or guessed}
        return await self._attempt(SECOND_FACTOR, user_name, address, user_agent, **counts, session=session)

    async def _attempt(
        self,
        limit: str,
        user_name: str,
        address: str,
        user_agent: str,
        *,
        guessed: bool = True,
        counted: bool = True,
        session: str | None = None,
    ) -> Attempt:
        account = _digest(name_key(user_name))
        device = _digest(account, address, user_agent)
        network = _network(address)
        share, favoured = "strangers", False
        if self._settings.enabled:
            known, favoured = await self._counters.knows(device, _digest(network))
            if session is not None:
                share = _digest(account, "session", session)
            elif known:
                share = device
            most, window = self._of_account[limit]
            if counted:
                await self._hit(most, limit, account, share, window=window, address=address)
        names = {"account": account, "device": device, "share": share, "network": network}
        return Attempt(self, limit, **names, guessed=guessed, favoured=favoured)

    async def locks(self, limit: str, user_name: str) -> bool:
        """True if this is the first attempt over a limit of the account within the window of that limit.

        Call it for unknown names too: its time must not distinguish them from others.
        """
        _, window = self._of_account[limit]
        account = _digest(name_key(user_name))
        return await self._counters.hit(1, window, "lockout", limit, account) is None

    async def refresh_from(self, address: str) -> None:
        """Count a refresh from an address, before its token is verified."""
        if self._settings.enabled:
            network = _network(address)
            await self._hit(self._settings.refresh_address, "refresh-address", network, address=address)

    async def refresh_of(self, login_id: str, rid: str, *, live: bool) -> None:
        """Count a refresh of an account, after its token was verified.

        A token that is not ``live``, but spent or ended, is counted by itself, by its ``rid``: its finder
        blocks no refresh of the account.
        """
        if self._settings.enabled:
            name = (login_id,) if live else (login_id, _digest(rid))
            await self._hit(self._settings.refresh_account, "refresh", *name, login_id=login_id)

    async def may_try_key(self, address: str) -> None:
        """Return if an address may try an API key that is not known yet; counts nothing."""
        if self._settings.enabled:
            limit = (self._settings.key_address, self._settings.window, KEY_ADDRESS, _network(address))
            if (wait := await self._counters.wait(*limit)) is not None:
                self.refused[KEY_ADDRESS] += 1
                raise RateLimited(wait, KEY_ADDRESS)

    async def key_failed(self, address: str) -> None:
        """Count a wrong API key from an address; raises ``RateLimited`` or ``Unavailable``."""
        if self._settings.enabled:
            await self._hit(self._settings.key_address, KEY_ADDRESS, _network(address), address=address)

    async def remember(self, device: str, network: str) -> None:
        """Remember a device as known, and an address as favoured."""
        if self._settings.enabled:
            life = self._settings.known_device_life
            await self._counters.know(device, life, _digest(network), FAVOURED_LIFE)

    async def forgive(self, limit: str, account: str, share: str) -> None:
        """Reset one share of an account."""
        if self._settings.enabled:
            for name in {ACCOUNT, limit}:
                most, window = self._of_account[name]
                await self._counters.clear(most, window, name, account, share)

    async def unlock(self, user_name: str) -> None:
        """Forget all attempts to log in to an account, from any device; too slow for requests."""
        for limit in self._of_account:
            await self._counters.clear_below(limit, _digest(name_key(user_name)))

    async def _hit(self, most: int, limit: str, *name: str, window: int | None = None, **facts: str) -> None:
        """Count an attempt; ``window`` in seconds, by default that of the settings."""
        wait = await self._counters.hit(most, window or self._settings.window, limit, *name)
        if wait is not None:
            self.refused[limit] += 1
            _log.warning("too many attempts", event_type="security", limit=limit, **facts)
            raise RateLimited(wait, limit)


def _digest(*parts: str) -> str:
    """Return a short, fixed-length name for texts that clients choose."""
    return sha256("\x00".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]


@lru_cache(4096)  # the same few come again and again
def _network(address: str) -> str:
    """Return the address to count by; the /64 network for IPv6, since a client may use all of it."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return address[:64]
    return str(ip_network((parsed, 64), strict=False)) if parsed.version == 6 else str(parsed)  # noqa: PLR2004
