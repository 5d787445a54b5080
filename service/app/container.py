"""The long-lived objects of a worker, made from its settings."""

from __future__ import annotations

import os
import secrets
import socket
from contextlib import AsyncExitStack
from functools import partial
from typing import Any

from service.administration.delegation import Delegation
from service.administration.jobs import jobs_of, runner_of
from service.administration.keyed_writes import Fingerprints, KeyedWrites
from service.administration.menus.menus import MenuChanges
from service.administration.policy.restore import PolicyRestore
from service.administration.resources.resources import ResourceChanges
from service.administration.roles.importing import RoleImport
from service.administration.roles.roles import RoleChanges
from service.administration.services.openings import OpeningChanges
from service.administration.services.services import ServiceChanges
from service.administration.unit_of_work import UnitsOfWork
from service.administration.users.accounts import Accounts
from service.administration.users.api_keys import ApiKeys
from service.administration.users.bans import Bans
from service.administration.users.importing import UserImport
from service.administration.users.kicks import Kicks
from service.administration.users.password_reset import PasswordReset
from service.app.installation_samples import Installation
from service.app.readiness import node_facts, readiness
from service.app.surroundings import Surroundings
from service.audit.decisions.log import decision_log
from service.audit.export.exporter import EXPORT_CONNECTIONS, EXPORT_WITHIN, Exporter
from service.audit.journal import LOG_CONNECTIONS, WITHIN, Journal
from service.authn.api_keys.callers import ApiKeyCallers
from service.authn.assertions import Assertions
from service.authn.authenticate import Authenticator
from service.authn.current_rights import CurrentRights
from service.authn.login_log import LoginLog
from service.authn.login_service import LoginService
from service.authn.opening import SessionOpening
from service.authn.password_change import PasswordChange
from service.authn.password_rules import PasswordRules
from service.authn.passwords import Passwords
from service.authn.refresh import Refresh
from service.authn.revocations import Revocations
from service.authn.sessions import Sessions
from service.authn.throttle import Throttle
from service.authn.token_issuer import TokenIssuer
from service.authn.tokens import Tokens
from service.authz.publishing.acknowledged import Acknowledgements
from service.authz.publishing.announced import AnnouncedRevision
from service.authz.publishing.changes import PolicyChanges
from service.authz.publishing.live import LivePolicy
from service.authz.publishing.revisions import PublishedRevisions, reader_of
from service.authz.publishing.shipped import Shipped, configured
from service.authz.publishing.watch import PolicyWatch
from service.authz.review.past import PastPolicies
from service.authz.review.turns import ReviewTurns
from service.evaluation.answers import Answers
from service.evaluation.evaluator import Evaluator
from service.evaluation.search import Search
from service.evaluation.subjects import Subjects
from service.files.links import PublicLinks
from service.files.object_store import object_store
from service.files.presigned import PresignedUrls
from service.files.uploads import Uploads
from service.jobs.scheduler import Scheduler
from service.keyspace import ClockWatch, SessionStore
from service.records.database.announcements import announcements
from service.records.database.replica import FreshSnapshots
from service.records.database.transactions import Database
from service.records.logs.reader import LogReader
from service.records.policy import lines
from service.settings import Auth, Settings
from service.settings import Database as DatabaseSettings
from service.settings.shared import shared_digests
from service.web.messages.cookies import Cookies
from service.web.observability.board import Slot
from service.web.observability.operator_token import OperatorToken
from service.web.observability.process import Process
from service.web.observability.tracing import request_tracing
from service.web.observability.traffic import Traffic
from service.web.observability.worker_metrics import WorkerMetrics
from service.web.requests.cors import CrossOrigin
from service.web.requests.credentials import CookieToken, HeaderToken
from service.web.requests.guard import AuthorizationGuard


class Container:
    """The long-lived objects of one worker. Creating them connects to nothing.

    ``slot`` is the place of the worker in its node; None for one without a launcher.
    """

    def __init__(self, settings: Settings, shipped: Shipped, slot: Slot | None = None) -> None:
        database, auth, worker = settings.database, settings.auth, _worker_name()
        self.settings, self.auth, self.worker, self.console = settings, auth, worker, settings.console.enabled
        self.tracing = request_tracing(settings.tracing, worker)
        self.database = _database(
            database, database.pool_size, database.timeout, traced=self.tracing is not None
        )
        self.store = SessionStore(settings.redis, auth)
        self.clock_watch = ClockWatch(self.store, leeway=auth.jwt_leeway, access_timeout=auth.access_timeout)
        self.log_database = _database(database, LOG_CONNECTIONS, WITHIN)
        self.journal = Journal(
            settings.oplog,
            self.log_database,
            self.store.log,
            worker,
            hold_days=settings.export.hold_days,
        )
        self.collector, self.exporter = self.journal.collector, _exporter(settings, worker)
        readers = max(1, database.pool_size // 2)
        self.log_snapshots = snapshots = FreshSnapshots(self.database, _replica(database, readers))
        self.objects, self.upload, self.logs = (
            object_store(settings.objstore, settings.server.data / "files"),
            settings.upload,
            LogReader(snapshots, at_once=readers),
        )
        self.uploads = Uploads(self.database, self.objects, settings.upload)
        self.links = PublicLinks(self.database, settings.upload)
        self.presigned = PresignedUrls(settings.objstore) if settings.objstore.presigned_links else None
        self.scheduler = Scheduler(
            jobs_of(settings, self.objects), self.database, runner_of(settings, worker)
        )
        self.live, self.past, self.turns = LivePolicy(shipped), PastPolicies(shipped), ReviewTurns()
        self.changes = PolicyChanges(
            self.database,
            self.live,
            shipped,
            partial(configured, settings.policy),
            self.store.revision_key.announce,
        )
        announced = partial(announcements, database.direct_url or database.url, lines.CHANNEL)
        self.watch = PolicyWatch(
            self.live,
            self.database,
            announced,
            AnnouncedRevision(self.store.revision_key, self.database),
            worker,
            token_life=auth.access_timeout,
            own_digests=settings.policy.own_digests,
            mend=self.changes.mend,
            facts=partial(node_facts, shared_digests(settings, auth.jwt_secret), self._troubles),
        )
        self.acknowledged = Acknowledgements(self.watch)
        self.passwords = Passwords(settings.password)
        self.tokens = tokens = Tokens(auth, self.store.synchronized.now, self.live.timeline)
        pairs = TokenIssuer(tokens, lambda: self.live.current.permission_map)
        self.login_log = log = LoginLog(self.collector.login)
        self.throttle = Throttle(settings.throttle, self.store.counters)
        self.key_callers = ApiKeyCallers(
            self.database, self.store, self.throttle, self.store.synchronized.now
        )
        self.attempts = LoginService(
            self.database,
            self.passwords,
            SessionOpening(self.database, self.store, pairs),
            self.throttle,
            log,
        )
        self.refresh = Refresh(self.database, self.store, tokens, pairs, log)
        self.sessions = Sessions(self.store, log)
        self.revocations = Revocations(self.database, self.store, log)
        delegation, password_rules = Delegation(self.live), PasswordRules(settings.password)
        self.password_change = PasswordChange(
            database=self.database,
            store=self.store,
            passwords=self.passwords,
            rules=password_rules,
            throttle=self.throttle,
            revocations=self.revocations,
            log=log,
        )
        self.cookies, self.assertions = Cookies(auth, self.store.synchronized.now), Assertions(auth, tokens)
        self.token_header, self.public_url = (auth.token_name, auth.token_prefix), settings.server.public_url
        self.cross_origin = CrossOrigin(settings.server.cors_origins, auth.token_name)
        self.password_reset = PasswordReset(delegation, self.password_change)
        self.api_keys, self.bans, self.kicks = (
            ApiKeys(self.database, delegation, self.revocations),
            Bans(self.database, delegation, self.revocations, log),
            Kicks(self.database, delegation, self.sessions),
        )
        self.keyed_writes = KeyedWrites(
            self.database, Fingerprints(auth, self.passwords, self.store.synchronized.now)
        )
        self.accounts = Accounts(self.database, delegation, self.revocations, self.passwords, password_rules)
        units = UnitsOfWork(self.database, self.changes, delegation, self.revocations)
        self.menus, self.resources, self.roles, self.services, self.openings, self.restore = (
            MenuChanges(units),
            ResourceChanges(units),
            RoleChanges(units),
            ServiceChanges(units),
            OpeningChanges(units),
            PolicyRestore(units),
        )
        self.user_import, self.role_import = (
            UserImport(self.database, delegation, self.revocations, self.passwords, password_rules),
            RoleImport(self.database, delegation, self.revocations),
        )
        self.process, self.traffic, self.surroundings, self.decision_log, self.operator_token = (
            Process(),
            Traffic(),
            Surroundings(settings),
            decision_log(settings.policy, self.exporter.outbox),
            OperatorToken(settings.server.metrics_token),
        )
        self.metrics, self.installation, self.current_rights = (
            WorkerMetrics(slot),
            Installation(
                self.database,
                self.store,
                self.scheduler.jobs,
                limit=settings.oplog.stream_limit,
                backup_days=settings.database.backup_days,
            ),
            CurrentRights(self.database, self.store),
        )
        self.authenticator = Authenticator(auth, tokens, self.store, self.key_callers)
        subjects = Subjects(self.current_rights, self.authenticator)
        self.evaluator, self.search = (
            Evaluator(subjects, Answers()),
            Search(self.database, subjects, self.turns),
        )
        self.guard = AuthorizationGuard(
            _token_of_requests(auth, self.cookies),
            self.authenticator,
            self.live,
            PublishedRevisions(self.live, reader_of(self.database)),
        )
        self.readiness = readiness(
            worker=worker,
            database=self.database,
            store=self.store,
            watch=self.watch,
            clock_watch=self.clock_watch,
            objects=self.objects,
            journal=self.journal,
            scheduler=self.scheduler,
            surroundings=self.surroundings,
        )

    def _troubles(self) -> dict[str, dict[str, Any]]:
        return self.readiness.troubles()

    async def close(self) -> None:
        """Release threads and connections, first those that use others; each of them, even if one fails."""
        self.passwords.close()
        in_order = (
            self.readiness.finish,
            self.uploads.finish,
            self.key_callers.finish,
            self.current_rights.finish,
            self.revocations.finish,
            self.journal.finish,
            None if self.decision_log is None else self.decision_log.finish,
            self.exporter.finish,
            self.store.close,
            self.log_snapshots.close,
            self.database.close,
            None if self.tracing is None else self.tracing.finish,
        )
        async with AsyncExitStack() as last_first:
            for end in reversed(in_order):
                if end is not None:
                    last_first.push_async_callback(end)


def _database(
    settings: DatabaseSettings, pool_size: int, timeout: float, *, traced: bool = False
) -> Database:
    return Database(
        settings.url,
        pool_size=pool_size,
        timeout=timeout,
        pooled=bool(settings.direct_url),
        traced=traced,
    )


def _exporter(settings: Settings, worker: str) -> Exporter:
    database = _database(settings.database, EXPORT_CONNECTIONS, EXPORT_WITHIN)
    return Exporter(settings.export, database, worker)


def _replica(settings: DatabaseSettings, pool_size: int) -> Database | None:
    if not settings.replica_url:
        return None
    return Database(settings.replica_url, pool_size=pool_size, timeout=settings.timeout, writes=False)


def _token_of_requests(auth: Auth, cookies: Cookies) -> HeaderToken:
    header = (auth.token_name, auth.token_prefix)
    return CookieToken(*header, cookies) if cookies.on else HeaderToken(*header)


def _worker_name() -> str:
    # Linux containers may share a host name, and each has a process 1.
    return f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(3)}"
