"""The composition root: settings become parts, parts become routes; one place starts and ends them."""

from __future__ import annotations

import asyncio
import gc
import os
import secrets
import socket
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, Final

from falcon.asgi import App, Response

from service import __version__
from service.administration.account_status import AccountStatus
from service.authn.authenticate import Authenticator
from service.authn.login import Login
from service.authn.pairs import Pairs
from service.authn.password_change import PasswordChange
from service.authn.password_rules import PasswordRules
from service.authn.passwords import Passwords
from service.authn.refresh import Refresh
from service.authn.revocations import Revocations
from service.authn.sessions import Sessions
from service.authn.throttle import Throttle
from service.authn.tokens import Tokens
from service.authz.changes import PolicyChanges
from service.authz.live import LivePolicy
from service.authz.shipped import Shipped, configured
from service.authz.watch import PolicyWatch
from service.endpoints import auth, binding, coverage, online, policy, resource, role, sessions, user
from service.files.object_store import object_store
from service.keyspace import SessionStore
from service.oplog.journal import Journal
from service.records import casbin_rule
from service.records.announcements import announcements
from service.records.database import Database
from service.settings import Settings
from service.web.address import address_behind
from service.web.cookies import Cookies
from service.web.credentials import CookieToken, HeaderToken
from service.web.docs import add_docs
from service.web.entrance import Entrance, falcon_app
from service.web.gate import Gate
from service.web.health import Live, Ready
from service.web.request import Request
from service.web.routes import Routes

TITLE: Final = "Portcullis"
DESCRIPTION: Final = "An administration service whose every authorization decision is one Casbin decision."


class Parts:
    """The long-lived parts of one worker. Making them connects to nothing."""

    def __init__(self, settings: Settings, shipped: Shipped) -> None:
        database, auth = settings.database, settings.auth
        self.database = Database(database.url, pool_size=database.pool_size, timeout=database.timeout)
        self.store = SessionStore(settings.redis, auth)
        self.journal = Journal(self.database)
        self.collector = self.journal.collector
        self.objects = object_store(settings.objstore, settings.server.data / "files")
        self.live = LivePolicy(shipped)
        self.changes = PolicyChanges(self.database, self.live, shipped, partial(configured, settings.policy))
        announced = partial(announcements, database.url, casbin_rule.CHANNEL)
        self.watch = PolicyWatch(self.live, self.database, announced, _worker_name())
        self.passwords = Passwords(settings.password)
        tokens = Tokens(auth)
        pairs = Pairs(tokens, lambda: self.live.current.permission_map)
        self.login = Login(self.database, self.store, self.passwords, pairs)
        self.refresh = Refresh(self.database, self.store, tokens, pairs)
        self.sessions = Sessions(self.store)
        self.revocations = Revocations(self.store)
        self.throttle = Throttle(settings.throttle, self.store.counters)
        self.password_change = PasswordChange(
            database=self.database,
            store=self.store,
            passwords=self.passwords,
            rules=PasswordRules(settings.password),
            throttle=self.throttle,
            revocations=self.revocations,
        )
        self.cookies = Cookies(auth)
        header = (auth.token_name, auth.token_prefix)
        token = CookieToken(*header, self.cookies) if self.cookies.on else HeaderToken(*header)
        self.accounts = AccountStatus(self.database, self.revocations)
        self.gate = Gate(token, Authenticator(auth, tokens, self.store), self.live)

    async def close(self) -> None:
        """Let go of threads and connections."""
        self.passwords.close()
        await self.revocations.finish()
        await self.journal.finish()
        await self.store.close()
        await self.database.close()


class Lifespan:
    """Falcon's hooks for the start and the end of a worker."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._watching: asyncio.Task[None] | None = None

    async def process_startup(self, scope: Mapping[str, Any], event: Mapping[str, Any]) -> None:
        """Load the policy and keep it the newest; until a first one is loaded, requests are refused."""
        await self._parts.watch.look()
        await self._parts.journal.start()
        self._watching = asyncio.create_task(self._parts.watch.run())
        # What is there by now stays: the collector need not walk all of it, amid requests, to find that out.
        gc.collect()
        gc.freeze()

    async def process_shutdown(self, scope: Mapping[str, Any], event: Mapping[str, Any]) -> None:
        """End what runs and let go of the rest."""
        if self._watching is not None:
            self._watching.cancel()
            with suppress(asyncio.CancelledError):
                await self._watching
            await self._parts.watch.leave()
        await self._parts.close()


def _worker_name() -> str:
    # Containers may share a host name, and each has a process 1.
    return f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(3)}"


def create_app(settings: Settings, shipped: Shipped) -> Entrance:
    """Return the ASGI application of one worker; it connects when its lifespan starts."""
    parts = Parts(settings, shipped)
    app = falcon_app()
    add_routes(app, parts).check(shipped.endpoints)
    app.add_middleware(Lifespan(parts))
    return Entrance(app, address_behind(settings.server.trusted_proxies))


def check_routes(shipped: Shipped) -> Routes:
    """Return all routes; RoutesFault unless each has a mark, and endpoint lines in ``shipped`` that agree.

    The parts are made for this alone: of no real store, and never started.
    """
    settings = Settings()
    nowhere = replace(
        settings,
        database=replace(settings.database, url="postgresql:///"),
        redis=replace(settings.redis, url="unix:///dev/null"),
        auth=replace(settings.auth, jwt_secret=secrets.token_hex(32)),
    )
    parts = Parts(nowhere, shipped)
    try:
        routes = add_routes(falcon_app(), parts)
        routes.check(shipped.endpoints)
    finally:
        parts.passwords.close()
    return routes


def add_routes(app: App[Request, Response], parts: Parts) -> Routes:
    """Register every endpoint: those of the group pass the gate, the others are named as outside it."""
    routes = Routes(app, parts.gate)
    cookies = parts.cookies
    routes.add("/api/auth/login", auth.Login(parts.login, parts.throttle, cookies))
    if cookies.on:
        routes.add("/api/auth/refresh", auth.RefreshInCookieMode(parts.refresh, parts.throttle, cookies))
    else:
        routes.add("/api/auth/refresh", auth.Refresh(parts.refresh, parts.throttle))
    routes.add("/api/auth/logout", sessions.Logout(parts.sessions, cookies))
    routes.add("/api/auth/logout/all", sessions.LogoutAll(parts.sessions, cookies))
    routes.add("/api/auth/sessions", sessions.Sessions(parts.sessions))
    routes.add("/api/auth/sessions/{device}", sessions.SessionOnDevice(parts.sessions, cookies))
    routes.add("/api/online/list", online.OnlineList(parts.sessions))
    routes.add("/api/online/{login_id}", online.OnlineUserSessions(parts.sessions))
    routes.add("/api/online/{login_id}/ban", online.OnlineUserBan(parts.database, parts.sessions))
    routes.add("/api/online/{login_id}/{device}", online.OnlineUserDevice(parts.sessions))
    routes.add("/api/policy", policy.InForce(parts.live, parts.watch))
    routes.add("/api/policy/coverage", coverage.PolicyCoverage(parts.live, routes))
    routes.add("/api/policy/explain", policy.Explain(parts.database, parts.live))
    routes.add("/api/policy/reload", policy.Reload(parts.changes))
    routes.add("/api/resource/list", resource.ResourceList(parts.database))
    routes.add("/api/resource", resource.Resources(parts.changes))
    routes.add("/api/resource/{id}", resource.OneResource(parts.database, parts.changes))
    routes.add("/api/resource/{id}/enabled", resource.ResourceState(parts.changes))
    routes.add("/api/resource/{id}/buttons", binding.ResourceButtons(parts.database, parts.changes))
    routes.add("/api/menu/{id}/resources", binding.ButtonResources(parts.database, parts.changes))
    routes.add("/api/role/list", role.RoleList(parts.database))
    routes.add("/api/user/info", user.Info(parts.database))
    routes.add("/api/user/profile/password", user.OwnPassword(parts.password_change))
    routes.add("/api/user/{id}/password", user.UserPassword(parts.password_change))
    routes.add("/api/user/{id}/status", user.UserStatus(parts.accounts))
    checks = {
        "database": parts.database.ping,
        "sessions": parts.store.ping,
        "files": parts.objects.ping,
        "policy": parts.watch.state,
    }
    routes.add_outside("/health/live", Live())
    routes.add_outside("/health/ready", Ready(checks))
    access_cookie = cookies.access if cookies.on else None
    add_docs(routes, title=TITLE, version=__version__, description=DESCRIPTION, access_cookie=access_cookie)
    return routes
