"""Settings of a follower: options of ``portcullis pdp``, or a TOML file with the same names."""

import re
import socket
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final, Literal, Self
from urllib.parse import urlsplit

from service.features.follower.lease import DEFAULT_BOUND
from service.kernel.operator_error import OperatorError
from service.kernel.services import NAME

_FOLLOWER: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")
_BOUNDS: Final = (0.2, 60.0)
_HOST: Final = re.compile(r"[A-Za-z0-9._-]{1,253}|\[?[0-9A-Fa-f:.]{2,45}\]?")
_ASKED: Final = re.compile(r"(\[[^]]*\]|[^:]*)(?::[0-9]*)?")
_LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")


class PdpSettingsError(OperatorError):
    """An invalid setting of a follower."""


@dataclass(frozen=True, kw_only=True)
class PdpSettings:
    """Settings of a follower.

    - ``hub``: the URL of the service.
    - ``key_file``: the file with the API key of the follower's account.
    - ``services``: the followed services.
    - ``listen``: a path of a Unix socket, or a loopback address with a port.
    - ``bound``: the maximum age of the data behind an answer, in seconds.
    - ``stale``: the answers without a lease.
    - ``file``: the file that keeps the followed data.
    - ``ca_file``: the certificates that authenticate the hub, if not the machine's own.
    - ``hosts``: accepted names of the ``Host`` header, without ports. The default is the loopback address,
      and any name
    for a Unix socket.
    """

    hub: str
    key_file: Path
    services: tuple[str, ...]
    listen: str = "127.0.0.1:8181"
    name: str = socket.gethostname()
    bound: float = DEFAULT_BOUND
    stale: Literal["deny", "last-known"] = "deny"
    file: Path | None = None
    decision_log: Path | None = None
    decision_log_allows: float = 1.0
    ca_file: Path | None = None
    hosts: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Validate all settings; raises PdpSettingsError for the first fault."""
        self._require(urlsplit(self.hub).scheme in ("http", "https"), "hub", "must be an http or https URL")
        self._require(
            bool(self.services) and all(map(NAME.fullmatch, self.services)),
            "services",
            "must be names of services",
        )
        self._require("portcullis" not in self.services, "services", "must be services other than the hub")
        self._require(
            _FOLLOWER.fullmatch(self.name) is not None, "name", "must only have letters, digits and . _ -"
        )
        self._require(_BOUNDS[0] <= self.bound <= _BOUNDS[1], "bound", "must be 0.2 to 60 seconds")
        self._require(self.stale in ("deny", "last-known"), "stale", "must be deny or last-known")
        self._require(0 <= self.decision_log_allows <= 1, "decision_log_allows", "must be 0 to 1")
        self._require(
            all(map(_HOST.fullmatch, self.hosts)), "hosts", "must be names or addresses without a port"
        )
        self.address()

    def answers(self, host: str) -> bool:
        """Return true if a ``Host`` header (RFC 9110 §7.2), with or without a port, is accepted.

        This rejects pages of other sites whose host name resolves to this machine (DNS rebinding).
        """
        names = self._names
        if names is None:
            return True
        asked = _ASKED.fullmatch(host)
        return asked is not None and _name(asked[1]) in names

    @cached_property
    def _names(self) -> frozenset[str] | None:
        """Return the accepted hosts; None for any."""
        place = self.address()
        if self.hosts:
            return frozenset(map(_name, self.hosts))
        return None if isinstance(place, Path) else frozenset(map(_name, (*_LOOPBACK, place[0])))

    @staticmethod
    def _require(good: bool, name: str, words: str) -> None:
        if not good:
            raise PdpSettingsError(f"{name} {words}")

    def address(self) -> Path | tuple[str, int]:
        """Return the path of the socket, or host and port; raises PdpSettingsError if others can reach it."""
        if self.listen.startswith(("/", "./")):
            return Path(self.listen)
        host, _, port = self.listen.rpartition(":")
        host = host.removeprefix("[").removesuffix("]")
        self._require(
            port.isdecimal() and int(port) < 1 << 16, "listen", "must be a path or an address with a port"
        )
        try:
            loopback = ip_address(host).is_loopback
        except ValueError:
            loopback = host == "localhost"
        self._require(
            loopback,
            "listen",
            "must be a Unix socket or loopback address, because callers are not authenticated",
        )
        return host, int(port)

    def key(self) -> str:
        """Return the API key; raises PdpSettingsError for an unreadable file, or one that others can read."""
        try:
            mode, text = self.key_file.stat().st_mode, self.key_file.read_text("utf-8-sig").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise PdpSettingsError(f"key_file can't be read: {error}") from None
        self._require(
            not mode & 0o007, "key_file", f"is readable by all users: run chmod 600 {self.key_file}"
        )
        self._require(text.startswith("pck_"), "key_file", "contains no API key")
        return text

    @classmethod
    def read(cls, path: Path | None, options: Mapping[str, Any]) -> Self:
        """Return the settings of a file, overridden by ``options`` that are not None."""
        given: dict[str, Any] = {}
        if path is not None:
            try:
                given = tomllib.loads(path.read_text("utf-8-sig"))
            except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
                raise PdpSettingsError(f"{path} can't be read: {error}") from None
        given |= {name: value for name, value in options.items() if value is not None}
        known = {field.name: str(field.type) for field in fields(cls)}
        if unknown := sorted(given.keys() - known.keys()):
            raise PdpSettingsError(f"unknown setting {', '.join(unknown)}")
        if missing := [name for name in ("hub", "key_file", "services") if name not in given]:
            raise PdpSettingsError(f"{', '.join(missing)} must be set")
        for name, kind in known.items():
            if name in given and "Path" in kind:
                given[name] = Path(given[name])
        for name in ("services", "hosts"):
            if isinstance(given.get(name), str):
                given[name] = given[name].split(",")
            given[name] = tuple(given.get(name, ()))
        return cls(**given)


def _name(host: str) -> str:
    return host.strip("[]").lower()
