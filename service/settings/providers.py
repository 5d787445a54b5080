"""Providers of OpenID Connect: their members, read strictly from tables of the file or from JSON."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias, get_args
from urllib.parse import urlsplit

from service.kernel.domains import ascii_domain
from service.settings.members import absolute_path, choice, from_json, member, read_table

Create: TypeAlias = Literal["never", "known-domain", "any"]
"""First sign-ins that create an account: none, those of people of known domains, or all."""
MappedAcr: TypeAlias = Literal["mfa", "phr"]

_CLAIM: Final = re.compile(r"[\x21-\x7e]{1,200}")
_SCOPE: Final = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]{1,100}")
_DOMAIN: Final = re.compile(r"[a-z0-9-]+(\.[a-z0-9-]+)+")
_LOOPBACK: Final = ("localhost", "127.0.0.1", "[::1]")


def is_secure_place(url: str) -> bool:
    """Return whether a URL is https, or http on this machine, without a user and a fragment."""
    try:
        parts = urlsplit(url)
        host, _port = parts.netloc.rpartition(":")[0] or parts.netloc, parts.port
    except ValueError:
        return False
    if (
        not parts.hostname
        or "@" in parts.netloc
        or parts.fragment
        or re.search(r"[\x00-\x20\x7f-\uffff\\]", url)
    ):
        return False
    local = parts.hostname in ("localhost", "127.0.0.1", "::1") or host in _LOOPBACK
    return parts.scheme == "https" or (parts.scheme == "http" and local)


def _text(value: object, pattern: re.Pattern[str] | None = None) -> str:
    if not isinstance(value, str) or not value.isprintable() or not value or len(value) > 1000:  # noqa: PLR2004
        raise ValueError("must have texts that are not empty")
    if pattern is not None and not pattern.fullmatch(value):
        raise ValueError("must have claims, scopes and domains of visible ASCII, domains in lower case")
    return str(value)


def _issuer(value: object) -> str:
    text = _text(value)
    if not is_secure_place(text) or "?" in text:
        raise ValueError("must have an issuer that is a URL of https, without query, fragment and user")
    return text


def _path(value: object) -> Path:
    return absolute_path(_text(value))


def _texts(pattern: re.Pattern[str]) -> Callable[[object], tuple[str, ...]]:
    def read(value: object) -> tuple[str, ...]:
        if not isinstance(value, list):
            raise ValueError("must have lists of texts")  # noqa: TRY004 - as above
        return tuple(dict.fromkeys(_text(each, pattern) for each in value))

    return read


def _domains(value: object) -> tuple[str, ...]:
    """Return domains as the name system has them: two spellings of one are one."""
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise ValueError("must have lists of texts")
    return _texts(_DOMAIN)([each if each.isascii() else ascii_domain(each) for each in value])


def _acr(value: object) -> dict[str, MappedAcr]:
    if not isinstance(value, Mapping) or any(each not in get_args(MappedAcr) for each in value.values()):
        raise ValueError("must have a table acr, whose values are mfa or phr")
    return {_text(name): each for name, each in value.items()}


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError("must have allow_password as true or false")  # noqa: TRY004 - as above
    return value


def _claim(value: object) -> str:
    return _text(value, _CLAIM)


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """A provider at which people sign in; ``docs/guides/sign-in-with-a-provider.md`` describes its members.

    ``acr`` has what the provider's values of that claim are worth here; any other is worth a password.
    """

    name: str = member(_text)
    issuer: str = member(_issuer, needed="a member issuer")
    client_id: str = member(_text, needed="a member client_id")
    title: str = member(_text, "")
    client_secret: str = member(_text, "", secret=True)
    client_secret_file: Path | None = member(_path, None)
    client_key_file: Path | None = member(_path, None)
    scopes: tuple[str, ...] = member(_texts(_SCOPE), ("openid", "profile", "email"))
    name_claim: str = member(_claim, "preferred_username")
    nick_name_claim: str = member(_claim, "name")
    address_claim: str = member(_claim, "email")
    groups_claim: str = member(_claim, "groups")
    acr: Mapping[str, MappedAcr] = member(_acr, factory=dict)
    create: Create = member(choice(*get_args(Create), title="create as "), "never")
    domains: tuple[str, ...] = member(_domains, ())
    allow_password: bool = member(_flag, default=True)
    ca_file: Path | None = member(_path, None)

    def complaints(self) -> Iterator[str]:
        """Yield half a sentence for each fault between members."""
        ways = [self.client_secret, self.client_secret_file, self.client_key_file]
        if sum(map(bool, ways)) != 1:
            yield "needs one of client_secret, client_secret_file and client_key_file"
        if "openid" not in self.scopes:
            yield "must have openid among its scopes"
        if (self.create == "known-domain") != bool(self.domains):
            yield "has domains if create is known-domain, and only then"


class Providers(tuple[Provider, ...]):
    """Providers with different names and different issuers."""

    __slots__ = ()


def providers_of_text(text: str) -> Providers:
    """Return the providers of a JSON array; none for an empty text. Raises ValueError."""
    return providers_of_tables(from_json(text, "a JSON array of providers", []))


def providers_of_tables(value: object) -> Providers:
    """Return the providers of a list of tables. Raises ValueError, without any value of a member."""
    if not isinstance(value, list) or not all(isinstance(members, dict) for members in value):
        raise ValueError("must be a list of tables")
    made = [read_table(Provider, members.get("name"), members) for members in value]
    for unique in ("name", "issuer"):
        if len({getattr(each, unique) for each in made}) != len(made):
            raise ValueError(f"must have a different {unique} in each table")
    return Providers(made)
