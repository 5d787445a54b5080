"""Checks routes and lines, and prepares schema, first administrator and policy, before the workers start."""

import asyncio
import signal
from dataclasses import replace
from multiprocessing.connection import Connection
from typing import Final

import structlog

from service.app import check_routes
from service.audit.seals import seals_of
from service.authn.password_rules import PasswordRules
from service.authn.passwords import Passwords
from service.authz.engine.policy import Policy
from service.authz.publishing.derive import covered_by
from service.authz.publishing.publisher import publish_if_changed
from service.authz.publishing.shipped import Shipped, configured, read_named
from service.authz.publishing.sync import differences, register
from service.errors import Refusal
from service.files.bucket import create_bucket
from service.files.object_store import object_store
from service.kernel.core_sentences import sentence
from service.kernel.feature import sole
from service.kernel.operator_error import OperatorError
from service.operator.errors import PasswordError, UnpreparedError
from service.operator.known_routes import routes_of_code
from service.operator.stores import past_pooler
from service.records.database.transactions import Database
from service.records.installation import migrate, restore_epochs
from service.records.installation.feature_rows import rows_in_need, switch_features
from service.records.installation.seed_catalogue import ADMINISTRATOR
from service.records.published import policy_revisions
from service.server.hardening import end_with_parent
from service.server.prepared import FirstLogin, Prepared, Refused
from service.settings import FIRST_PASSWORD, Features, Settings
from service.web.observability.log_format import configure_logging

_PUBLISH_PATIENCE = 120.0  # seconds: others may be publishing, and large policies take a while


_NO_RESTORE_EPOCH: Final = (
    "The database has no restore epoch: it was brought back by pg_restore alone, or its restore was broken "
    "off. Restore the backup into a new database, by portcullis restore"
)

_UNKNOWN_KEY: Final = (
    "Revision {} of the policy must be sealed, by a key that is not set here. Set oplog.chain_key as other "
    "nodes have it, and oplog.chain_previous_key while it is replaced; only if the key is lost: portcullis "
    "policy republish"
)

_log = structlog.get_logger(__name__)


def run(launcher: Connection, settings: Settings) -> None:
    """Run the process of a ``Preparation``: check, report, receive the filled settings, prepare, report.

    Errors that an operator can correct are sent to ``launcher`` as ``Refused``, and end the process.
    """
    signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # a terminal sends it to the launcher too, which then ends this
    end_with_parent()
    configure_logging(settings.log.format, settings.log.level)
    try:
        shipped = check(settings)
        launcher.send(None)
        filled, password = launcher.recv()
        launcher.send(prepare(filled, password, shipped))
    except (OperatorError, Refusal) as error:
        launcher.send(Refused(str(error)))
    except EOFError:  # the launcher has given up: it could not listen, or start a store
        return


def check(settings: Settings) -> Shipped:
    """Check lines and routes, and all that a worker makes of the settings; return model and lines.

    Raises ``SettingsError``, ``PolicyError``, ``RoutesError``, and what else a worker would raise.
    """
    shipped = configured(settings)
    check_routes(shipped, settings)
    return shipped


def prepare(settings: Settings, password: str | None, shipped: Shipped) -> Prepared:
    """Prepare the database, the policy and the bucket; raises the errors of each step."""
    settings = past_pooler(settings)
    first = prepare_database(settings, password, shipped)
    policy = publish_policy(settings, shipped)
    create_bucket(settings.objstore, settings.server)
    files = object_store(settings.objstore, settings.server.data / "files").description
    return Prepared(first, f"revision {policy.revision}, {len(policy.rules)} lines", files)


def prepare_database(settings: Settings, chosen: str | None, shipped: Shipped) -> FirstLogin | None:
    """Migrate the database and seed it if it is new; return the first login if it was new.

    Logs what this version adds to the catalogue of permissions, with the roles that gain it. ``chosen`` is
    the administrator's password, None for a random one. Raises ``PasswordError``, ``SchemaError`` and
    ``Unavailable``.
    """
    rules = PasswordRules(settings.password)
    password = chosen or rules.generate(ADMINISTRATOR)
    passwords = Passwords(settings.password)

    def administrator_hash() -> str:
        if chosen and (complaint := rules.complaint(chosen, ADMINISTRATOR)):
            raise PasswordError(f"{FIRST_PASSWORD} {complaint}")
        return asyncio.run(passwords.hash(password))

    try:
        covered = covered_by(shipped.model_text)
        prepared = migrate.prepare(
            settings.database.url,
            administrator_hash,
            covered,
            shipped.extensions,
            migrates=settings.database.migrate,
        )
    finally:
        passwords.close()
    if additions := prepared.additions:
        _log.info(
            "this version has brought permissions",
            codes=list(additions.codes),
            resources=list(additions.resources),
            gained_by={role: list(codes) for role, codes in additions.gained_by.items()},
        )
    if not prepared.new:
        return None
    return FirstLogin(ADMINISTRATOR.user_name, password if chosen is None else None)


def publish_policy(settings: Settings, shipped: Shipped) -> Policy:
    """Derive the policy again, and publish it if it changed; return the policy in force.

    With ``policy.unregistered`` set to ``deny``, the first policy of an installation has a resource for each
    route. Otherwise no caller could register the first resource.
    """
    policy = asyncio.run(_publish(settings, shipped))
    if closed := sole("locked-out")(policy):
        _log.error("everybody is locked out of what administers the policy", requests=closed)
    return policy


def _of_all_features(settings: Settings) -> Shipped:
    """Return the static policy of a node without ``features.off``: all nodes share the stored policy."""
    policy = settings.policy
    strict = policy.unregistered == "deny"
    chosen = replace(settings, features=Features())
    return read_named(chosen, policy.folder, assurance=policy.assurance, strict=strict)


async def _publish(settings: Settings, shipped: Shipped) -> Policy:
    async with Database(settings.database.url, pool_size=1, timeout=settings.database.timeout) as database:
        async with database.transaction(within=_PUBLISH_PATIENCE) as connection:
            await policy_revisions.lock(connection)
            if await restore_epochs.current(connection) is None:
                raise UnpreparedError(_NO_RESTORE_EPOCH)
            if needed := await rows_in_need(connection, settings.features.off):
                raise UnpreparedError("; ".join(needed))
            await switch_features(connection, settings.features.off)
            latest, seals = await policy_revisions.latest(connection), seals_of(settings.oplog)
            if latest is None and not shipped.leaves_unregistered:
                difference = await differences(connection, routes_of_code(_of_all_features(settings)))
                await register(connection, difference.proposed)
            if latest is not None and (await seals.judged(connection, latest)).authenticity == "unknown_key":
                raise UnpreparedError(_UNKNOWN_KEY.format(latest.revision))
            # The stored records decide, whatever the newest revision contains. The revision is sealed if
            # there is a key.
            policy = await publish_if_changed(connection, shipped, seals, sentence("cause_start"), anew=True)
            await seals.renew(connection)
            broken = await sole("broken-invariants")(connection, shipped.invariants, policy)
        # The start continues: otherwise the broken invariants could not be repaired.
        for violation in broken:
            _log.error(
                "an invariant of the policy is broken",
                event_type="security",
                invariant=violation.statement.name,
                finding=str(violation.finding),
            )
        return policy
