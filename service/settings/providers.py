"""Providers of OpenID Connect: their members, read strictly from tables of the file or from JSON."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, get_args
from urllib.parse import urlsplit

from service.kernel.domains import ascii_domain
from service.kernel.strict_json import strict_json

Create: TypeAlias = Literal["never", "known-domain", "any"]
"""First sign-ins that create an account: none, those of people of known domains, or all."""
MappedAcr: TypeAlias = Literal["mfa", "phr"]

_NAME: Final = re.compile(r"[a-z][a-z0-9-]{0,31}")
_CLAIM: Final = re.compile(r"[\x21-\x7e]{1,200}")
_SCOPE: Final = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]{1,100}")
_DOMAIN: Final = re.compile(r"[a-z0-9-]+(\.[a-z0-9-]+)+")
_LOOPBACK: Final = ("localhost", "127.0.0.1", "[::1]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """A provider at which people sign in; ``docs/guides/sign-in-with-a-provider.md`` describes its members.

    ``acr`` has what the provider's values of that claim are worth here; any other is worth a password.
    """

    name: str
    issuer: str
    client_id: str
    title: str = ""
    client_secret: str = field(default="", repr=False)
    client_secret_file: Path | None = None
    client_key_file: Path | None = None
    scopes: tuple[str, ...] = ("openid", "profile", "email")
    name_claim: str = "preferred_username"
    nick_name_claim: str = "name"
    address_claim: str = "email"
    groups_claim: str = "groups"
    acr: Mapping[str, MappedAcr] = field(default_factory=dict)
    create: Create = "never"
    domains: tuple[str, ...] = ()
    allow_password: bool = True
    ca_file: Path | None = None


class Providers(tuple[Provider, ...]):
    """Providers with different names and different issuers."""

    __slots__ = ()


def providers_of_text(text: str) -> Providers:
    """Return the providers of a JSON array; none for an empty text. Raises ValueError."""
    if not text:
        return Providers()
    try:
        value = strict_json(text.encode())
    except ValueError:
        raise ValueError("must be a JSON array of providers") from None
    return providers_of_tables(value)


def providers_of_tables(value: object) -> Providers:
    """Return the providers of a list of tables. Raises ValueError, without any value of a member."""
    if not isinstance(value, list):
        raise ValueError("must be a list of tables")  # noqa: TRY004 - a fault of the operator, as all here
    made = [_provider(members) for members in value]
    for member in ("name", "issuer"):
        if len({getattr(each, member) for each in made}) != len(made):
            raise ValueError(f"must have a different {member} in each table")
    return Providers(made)


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


def _provider(members: object) -> Provider:
    if not isinstance(members, Mapping):
        raise ValueError("must be a list of tables")  # noqa: TRY004 - as above
    name = members.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ValueError("must have names of at most 32 of a-z, 0-9 and -, starting with a letter")
    if unknown := sorted(map(str, members.keys() - _READERS.keys())):
        raise ValueError(f"has no member {unknown[0]:.40} ({name}); there are {', '.join(_READERS)}")
    for needed in ("issuer", "client_id"):
        if needed not in members:
            raise ValueError(f"needs a member {needed} ({name})")
    try:
        made = Provider(**{member: _READERS[member](value) for member, value in members.items()})
    except ValueError as error:
        raise ValueError(f"{error} ({name})") from None
    for complaint in _complaints(made):
        raise ValueError(f"{complaint} ({name})")
    return made


def _complaints(made: Provider) -> Iterator[str]:
    ways = [made.client_secret, made.client_secret_file, made.client_key_file]
    if sum(map(bool, ways)) != 1:
        yield "needs one of client_secret, client_secret_file and client_key_file"
    if "openid" not in made.scopes:
        yield "must have openid among its scopes"
    if (made.create == "known-domain") != bool(made.domains):
        yield "has domains if create is known-domain, and only then"


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
    path = Path(_text(value))
    if not path.is_absolute():
        raise ValueError("must have absolute paths of files")
    return path


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


def _create(value: object) -> Create:
    if value not in get_args(Create):
        raise ValueError(f"must have create as one of {', '.join(get_args(Create))}")
    return value  # type: ignore[return-value]  # it is among them


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError("must have allow_password as true or false")  # noqa: TRY004 - as above
    return value


def _claim(value: object) -> str:
    return _text(value, _CLAIM)


_READERS: Final[dict[str, Callable[[object], Any]]] = {
    "name": _text,
    "issuer": _issuer,
    "client_id": _text,
    "title": _text,
    "client_secret": _text,
    "client_secret_file": _path,
    "client_key_file": _path,
    "scopes": _texts(_SCOPE),
    "name_claim": _claim,
    "nick_name_claim": _claim,
    "address_claim": _claim,
    "groups_claim": _claim,
    "acr": _acr,
    "create": _create,
    "domains": _domains,
    "allow_password": _flag,
    "ca_file": _path,
}
assert _READERS.keys() == {setting.name for setting in fields(Provider)}  # noqa: S101 - one reader each
