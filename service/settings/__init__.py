"""The settings: one table, read once from the environment and a configuration file.

Owns the names, defaults, units and checks of all settings, the rules between them, and the signing
secret of a local installation. It opens no connection and starts nothing; ``load`` only reads. It does
not know which part of the service uses a setting.
"""

from service.settings.all_sections import Settings, markdown
from service.settings.chats import ChatDestination, ChatKind
from service.settings.destinations import Destination, ExportLog
from service.settings.event_destinations import EventDestination, EventInclude
from service.settings.event_kinds import EventKind
from service.settings.loading import (
    CONFIG,
    FIRST_PASSWORD,
    configured_file,
    first_password,
    load,
    secret_files,
    written_secrets,
)
from service.settings.providers import Provider
from service.settings.secrecy import (
    check_secret,
    local_factor_key,
    local_previous,
    local_previous_factor_key,
    local_secret,
    rotate_local_factor_key,
    rotate_local_secret,
)
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
from service.settings.table import Fault, Row, SettingsError, setting, table_of
from service.settings.values import SHORTEST_WORD


def table() -> tuple[Row, ...]:
    """Return one row per setting, in the order of the sections and of their fields."""
    return table_of(Settings)
