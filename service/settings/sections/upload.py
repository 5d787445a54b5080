"""The settings of uploaded files and of the public links to them."""

from dataclasses import dataclass
from typing import Final

from service.kernel.media_types import KINDS
from service.settings.checks import between, url
from service.settings.table import setting

_KNOWN: Final = [kind.media_type for kind in KINDS]
_HARMLESS: Final = ",".join(kind.media_type for kind in KINDS if not kind.active)
_HOUR: Final = 3600
_DAY: Final = 24 * _HOUR
_EXBIBYTE: Final = 2**60


def _media_types(value: str) -> str | None:
    unknown = [name for name in value.split(",") if name.strip() not in _KNOWN]
    return "must be media types from this list: " + ", ".join(_KNOWN) if unknown else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    """Limits of uploads, and the lifetime of links."""

    max_bytes: int = setting(
        256 * 1024 * 1024, unit="bytes", check=between(1, _EXBIBYTE), help="The largest file."
    )
    types: str = setting(
        _HARMLESS,
        check=_media_types,
        shown="all known types but " + ", ".join(kind.media_type for kind in KINDS if kind.active),
        help="The accepted media types, separated by commas; the type is detected from the file's content. "
        "Types that a browser would run are accepted only if they are named here.",
    )
    user_bytes: int = setting(
        10 * 1024**3,
        unit="bytes",
        check=between(0, _EXBIBYTE),
        help="All files of one user together; 0 for no limit.",
    )
    user_files: int = setting(
        10_000, check=between(0, 10**9), help="The number of files of one user; 0 for no limit."
    )
    concurrent: int = setting(
        8,
        check=between(1, 1000),
        help="Uploads that one worker receives at the same time, about 16 MiB of memory each, and half as "
        "many of one user; others wait up to 10 s and are then answered 503.",
    )
    idle_timeout: float = setting(
        30.0, unit="s", check=between(1.0, 300.0), help="Longest silence of a client within its upload."
    )
    sweep_interval: int = setting(
        _HOUR,
        unit="s",
        check=between(0, 30 * _DAY),
        help="Time between two searches for objects that belong to no file; 0: no searches.",
    )
    link_life: int = setting(
        7 * _DAY, unit="s", check=between(1, 3650 * _DAY), help="The default life of a public link."
    )
    link_max_life: int = setting(
        90 * _DAY, unit="s", check=between(1, 3650 * _DAY), help="The longest life of a public link."
    )
    public_url: str = setting(
        "",
        check=url("https", "http"),
        help="The URL under which clients reach the service, for public links: `https://admin.example.com`. "
        "Empty: links are given as paths.",
    )
