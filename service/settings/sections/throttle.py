"""The settings of throttling: how many attempts are allowed."""

from dataclasses import dataclass

from service.settings.checks import between
from service.settings.table import setting

_MOST = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Throttle:
    """How many logins, refreshes and wrong API keys are allowed; further attempts are answered 429."""

    enabled: bool = setting(default=True, help="Whether attempts are counted at all.")
    window: int = setting(
        300, unit="s", check=between(1, 86_400), help="The sliding window in which attempts are counted."
    )
    login_account: int = setting(
        10,
        unit="attempts",
        check=between(1, _MOST),
        help="Logins to one account from all devices that have not logged in to it before, taken "
        "together. A known device (address and User-Agent of an earlier login) and each session have "
        "the same number of their own, for a password that is changed or confirmed again. A login "
        "that succeeds restarts the count.",
    )
    second_factor: int = setting(
        20,
        unit="attempts",
        check=between(1, _MOST),
        help="Codes of authenticator apps tried for one account within a day, and recovery codes for a "
        "forgotten password, with shares of devices and sessions as for `login_account`. A login or step-up "
        "that succeeds restarts the count.",
    )
    login_address: int = setting(
        300,
        unit="attempts",
        check=between(1, _MOST),
        help="Logins from one client address (IPv6: one /64 network), whatever the account and the outcome.",
    )
    refresh_account: int = setting(
        120,
        unit="attempts",
        check=between(1, _MOST),
        help="Refreshes of one account with tokens that are not spent, and with each spent one by itself.",
    )
    refresh_address: int = setting(
        1200,
        unit="attempts",
        check=between(1, _MOST),
        help="Refreshes from one client address (IPv6: one /64 network).",
    )
    key_address: int = setting(
        300,
        unit="attempts",
        check=between(1, _MOST),
        help="Wrong API keys from one client address (IPv6: one /64 network). Further keys from there that a "
        "worker does not know yet are refused without being looked up.",
    )
    reset_address: int = setting(
        20,
        unit="attempts",
        check=between(1, _MOST),
        help="Requests for a forgotten password from one client address (IPv6: one /64 network) in an hour.",
    )
    known_device_life: int = setting(
        2_592_000,
        unit="s",
        check=between(60, 31_536_000),
        help="How long a device stays known after its last login.",
    )
