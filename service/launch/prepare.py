"""Before the workers: the schema, the first administrator, and the policy that workers will load."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

import structlog

from service.authn.password_rules import PasswordRules
from service.authn.passwords import Passwords
from service.authz.engine.policy import Policy
from service.authz.publishing.publisher import publish_if_changed
from service.authz.publishing.shipped import Shipped
from service.launch.errors import PasswordError
from service.records import migrate
from service.records.database.transactions import Database
from service.records.seed.data import ADMINISTRATOR
from service.settings import Settings

PASSWORD = "PORTCULLIS_ADMIN_PASSWORD"  # noqa: S105 - the name of a variable, not a password
_PUBLISH_PATIENCE = 120.0  # seconds: others may be publishing, and large policies take a while


_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class FirstLogin:
    """The administrator of a new database.

    ``password`` is None when the operator chose it, and ``complaint`` then says what is weak about it.
    """

    user_name: str
    password: str | None
    complaint: str | None = None


def prepare_database(settings: Settings, environ: Mapping[str, str]) -> FirstLogin | None:
    """Bring the database to this version and seed it if it is new; return the first login if so.

    What this version adds to the catalogue of permissions is told to the log, with the roles that gain it.

    The administrator's password is ``PORTCULLIS_ADMIN_PASSWORD``, else random. Raises ``PasswordError``,
    ``SchemaError`` and ``Unavailable``.
    """
    chosen = environ.get(PASSWORD) or None
    rules = PasswordRules(settings.password)
    password = chosen or rules.generate((ADMINISTRATOR,))
    passwords = Passwords(settings.password)

    def administrator_hash() -> str:
        _refuse_outright(password, settings)
        return asyncio.run(passwords.hash(password))

    try:
        prepared = migrate.prepare(settings.database.url, administrator_hash)
    finally:
        passwords.close()
    if found := prepared.additions:
        _log.info(
            "this version has brought permissions",
            codes=list(found.codes),
            resources=list(found.resources),
            gained_by={role: list(codes) for role, codes in found.gained_by.items()},
        )
    if not prepared.new:
        return None
    if chosen is None:
        return FirstLogin(ADMINISTRATOR, password)
    return FirstLogin(ADMINISTRATOR, None, rules.complaint(chosen, (ADMINISTRATOR,)))


def publish_policy(settings: Settings, shipped: Shipped) -> Policy:
    """Rebuild the policy from the shipped lines and the registered resources; publish it if it changed."""
    return asyncio.run(_publish(settings, shipped))


async def _publish(settings: Settings, shipped: Shipped) -> Policy:
    database = Database(settings.database.url, pool_size=1, timeout=settings.database.timeout)
    try:
        async with database.transaction(within=_PUBLISH_PATIENCE) as connection:
            return await publish_if_changed(connection, shipped, "start")
    finally:
        await database.close()


def _refuse_outright(password: str, settings: Settings) -> None:
    low, high = settings.password.min_length, settings.password.max_length
    if not low <= len(password) <= high:
        raise PasswordError(f"{PASSWORD} must be {low} to {high} characters long")
