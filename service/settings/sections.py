"""All sections together, in the order of the table."""

from __future__ import annotations

from dataclasses import dataclass, field

from service.settings.auth import Auth
from service.settings.console import Console
from service.settings.database import Database
from service.settings.export import Export
from service.settings.log import Log
from service.settings.mail import Mail
from service.settings.objstore import Objstore
from service.settings.oplog import Oplog
from service.settings.password import Password
from service.settings.policy import Policy
from service.settings.redis import Redis
from service.settings.server import Server
from service.settings.throttle import Throttle
from service.settings.tracing import Tracing
from service.settings.upload import Upload


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings, checked. Change one with ``dataclasses.replace`` on its section."""

    server: Server = field(default_factory=Server)
    database: Database = field(default_factory=Database)
    redis: Redis = field(default_factory=Redis)
    objstore: Objstore = field(default_factory=Objstore)
    upload: Upload = field(default_factory=Upload)
    auth: Auth = field(default_factory=Auth)
    password: Password = field(default_factory=Password)
    throttle: Throttle = field(default_factory=Throttle)
    policy: Policy = field(default_factory=Policy)
    log: Log = field(default_factory=Log)
    oplog: Oplog = field(default_factory=Oplog)
    export: Export = field(default_factory=Export)
    mail: Mail = field(default_factory=Mail)
    console: Console = field(default_factory=Console)
    tracing: Tracing = field(default_factory=Tracing)

    @property
    def external(self) -> bool:
        """True if the database or the session store is not an embedded one."""
        return bool(self.database.url or self.redis.url)
