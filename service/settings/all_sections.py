"""All sections together, in the order of the table."""

import hashlib
import hmac
from dataclasses import dataclass, field
from itertools import groupby
from typing import Final, get_type_hints

from service.settings.sections.auth import Auth
from service.settings.sections.chat import Chat
from service.settings.sections.console import Console
from service.settings.sections.database import Database
from service.settings.sections.events import Events
from service.settings.sections.export import Export
from service.settings.sections.features import Features
from service.settings.sections.log import Log
from service.settings.sections.mail import Mail
from service.settings.sections.objstore import Objstore
from service.settings.sections.oidc import Oidc
from service.settings.sections.oplog import Oplog
from service.settings.sections.password import Password
from service.settings.sections.policy import Policy
from service.settings.sections.redis import Redis
from service.settings.sections.server import Server
from service.settings.sections.throttle import Throttle
from service.settings.sections.tracing import Tracing
from service.settings.sections.upload import Upload
from service.settings.table import Row, table_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings, checked. Change one with ``dataclasses.replace`` on its section."""

    server: Server = field(default_factory=Server)
    database: Database = field(default_factory=Database)
    redis: Redis = field(default_factory=Redis)
    objstore: Objstore = field(default_factory=Objstore)
    upload: Upload = field(default_factory=Upload)
    auth: Auth = field(default_factory=Auth)
    oidc: Oidc = field(default_factory=Oidc)
    password: Password = field(default_factory=Password)
    throttle: Throttle = field(default_factory=Throttle)
    policy: Policy = field(default_factory=Policy)
    log: Log = field(default_factory=Log)
    oplog: Oplog = field(default_factory=Oplog)
    export: Export = field(default_factory=Export)
    mail: Mail = field(default_factory=Mail)
    chat: Chat = field(default_factory=Chat)
    events: Events = field(default_factory=Events)
    features: Features = field(default_factory=Features)
    console: Console = field(default_factory=Console)
    tracing: Tracing = field(default_factory=Tracing)

    @property
    def external(self) -> bool:
        """True if the database or the session store is not an embedded one."""
        return bool(self.database.url or self.redis.url)


_SECTIONS: Final = frozenset(
    {"auth", "oidc", "password", "throttle", "oplog", "upload", "objstore", "policy", "features"}
)
# Paths of a node, what a node alone does, and what changes in the course of a roll-out.
_OWN: Final = frozenset(
    {
        "auth.jwt_private_key",
        "auth.jwt_public_key",
        "auth.jwt_previous_private_key",
        "auth.jwt_previous_until",
        "policy.model",
        "policy.folder",
        "policy.invariants",
        "policy.own_digests",
        "policy.decision_log",
        "policy.decision_log_allows",
    }
)
_LENGTH: Final = 8  # hexadecimal digits: enough to differ, too few to reveal anything


def shared_digests(settings: Settings, secret: str) -> dict[str, str]:
    """Return a short digest of each section, keyed by the signing ``secret``, without other secrets.

    Paths, and where stores are reached, may differ from node to node and are left out.
    """
    lines: dict[str, list[str]] = {name: [] for name in sorted(_SECTIONS)}
    for row in table_of(Settings):
        if row.section in _SECTIONS and not row.secret and row.title not in _OWN:
            lines[row.section].append(f"{row.name}={getattr(getattr(settings, row.section), row.member)!r}")
    return {
        name: hmac.new(secret.encode(), "\n".join(values).encode(), hashlib.sha256).hexdigest()[:_LENGTH]
        for name, values in lines.items()
    }


_HEAD = ("Setting", "Variable", "Default", "Unit", "Meaning")


def markdown() -> str:
    """Return one Markdown table per section, each under a heading and the section's summary."""
    owners = get_type_hints(Settings)
    return "\n".join(
        "\n".join([f"### `[{section}]`", "", owners[section].__doc__ or "", "", *_lines(list(rows)), ""])
        for section, rows in groupby(table_of(Settings), key=lambda row: row.section)
    )


def _lines(rows: list[Row]) -> list[str]:
    cells = [_HEAD, tuple("---" for _ in _HEAD), *map(_cells, rows)]
    return ["| " + " | ".join(line) + " |" for line in cells]


def _cells(row: Row) -> tuple[str, ...]:
    variables = "<br>".join(f"`{name}`" for name in (*row.variables, *row.files[:1]))
    described = " " in row.shown.strip() or "`" in row.shown
    default = row.shown if described else f"`{row.shown}`" if row.shown else "empty"
    return (f"`{row.name}`", variables, default, row.unit, row.help.replace("|", "\\|"))
