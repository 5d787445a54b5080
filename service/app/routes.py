"""The table of routes: the endpoint of each template, with its dependencies."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from service import __version__
from service.administration.dry_runs import DryRuns
from service.app.container import Container
from service.app.extensions import add_extensions
from service.app.readiness import facts
from service.authn.oauth.client_credentials import ClientCredentials
from service.authn.oauth.introspection import Introspection
from service.authz.publishing.shipped import Shipped
from service.authz.publishing.sync import KnownRoute
from service.diagnosis.latest import LatestFindings
from service.endpoints.access import evaluation, forward, metadata, search
from service.endpoints.files import files, public_links
from service.endpoints.jobs import jobs
from service.endpoints.logs import logins, operations
from service.endpoints.menus import menus, own_menus
from service.endpoints.oauth import tokens as oauth
from service.endpoints.policy import (
    coverage,
    explain,
    matrix,
    permission_map,
    policy,
    restore,
    revisions,
    what_if,
    who_may,
)
from service.endpoints.resources import bindings, resources
from service.endpoints.roles import role_tables, roles
from service.endpoints.services import openings, services
from service.endpoints.sessions import key_set, online, own_sessions, tokens
from service.endpoints.system import findings
from service.endpoints.system.health import Live, Ready
from service.endpoints.system.metrics import Metrics
from service.endpoints.users import account_state, accounts, api_keys, own_operations, profile, user_tables
from service.evaluation.answers import Answers
from service.kernel.about import NAME
from service.kernel.extension import Extension
from service.web.content.downloads import Downloads
from service.web.observability.decision_events import DecisionEvents
from service.web.requests.application import Application
from service.web.requests.routes import Routes
from service.web.sites.api_pages import add_docs
from service.web.sites.console import add_console
from service.web.sites.guide import add_guide, is_built
from service.web.sites.start import StartPage

INFO: Final = {
    "title": NAME,
    "version": __version__,
    "description": "An administration service whose every authorization decision is one Casbin decision.",
    "contact": {"name": "The Portcullis maintainers"},
    "license": {"name": "Apache License 2.0", "identifier": "Apache-2.0"},
}
"""The facts about the API that open its document."""

TAGS: Final = {
    ".well-known": "Where clients find what they have to know first (RFC 8615).",
    "access": "Decisions about requests to other services, and about their permissions.",
    "auth": "Login, refresh, logout, and the caller's own sessions.",
    "file": "Files: upload, list, download, delete, and public links.",
    "health": "Whether the process runs, and whether the service works.",
    "jobs": "What the service does by itself, and how it ended.",
    "login-log": "Logins and other events of sessions.",
    "menu": "Menus and Buttons, and the resources that Buttons open.",
    "oauth": "Tokens for service accounts, and what a token is worth (RFC 6749, RFC 7662).",
    "online": "Who is logged in; kicks and bans.",
    "operation-log": "Calls of the service, with what they changed.",
    "policy": "The authorization policy: its revisions, and who may do what.",
    "opening": "What other services have open without a permission code.",
    "public": "What is open to everybody who has a link.",
    "resource": "Registered API resources, and the Buttons that open them.",
    "role": "Roles, and the permissions that they give.",
    "service": "Other services, whose routes resources guard.",
    "system": "What is wrong with the installation, or may soon be.",
    "user": "Users, and the caller's own account.",
}
"""What the operations below the first segment of a path are about."""


def add_routes(app: Application, container: Container, extensions: Sequence[Extension] = ()) -> Routes:
    """Register every endpoint; those of the groups are guarded, the others are added as outside them.

    Those of ``extensions`` are among the guarded ones.
    """
    dry_runs = DryRuns(container.live, container.store, container.turns)
    routes = Routes(
        app,
        container.guard,
        container.acknowledged.by,
        dry_runs.impact_of,
        container.cross_origin,
        keyed_writes=container.keyed_writes,
    )
    cookies = container.cookies
    routes.add("/api/auth/login", tokens.Login(container.attempts, cookies))
    if cookies.on:
        routes.add(
            "/api/auth/refresh", tokens.RefreshInCookieMode(container.refresh, container.throttle, cookies)
        )
    else:
        routes.add("/api/auth/refresh", tokens.Refresh(container.refresh, container.throttle))
    routes.add("/api/auth/logout", own_sessions.Logout(container.sessions, cookies))
    routes.add("/api/auth/logout/all", own_sessions.LogoutAll(container.sessions, cookies))
    routes.add("/api/auth/sessions", own_sessions.Sessions(container.sessions))
    routes.add("/api/auth/sessions/{device}", own_sessions.SessionOnDevice(container.sessions, cookies))
    routes.add("/api/online/list", online.OnlineList(container.sessions))
    routes.add("/api/online/{login_id}", online.OnlineUserSessions(container.kicks))
    routes.add("/api/online/{login_id}/ban", online.OnlineUserBan(container.bans))
    routes.add("/api/online/{login_id}/{device}", online.OnlineUserDevice(container.kicks))
    routes.add(
        "/oauth/token",
        oauth.Token(
            ClientCredentials(container.key_callers, container.tokens, container.auth.client_timeout)
        ),
    )
    routes.add("/oauth/introspect", oauth.Introspect(Introspection(container.auth, container.authenticator)))
    _add_rights(routes, container)
    _add_logs(routes, container)
    _add_jobs(routes, container)
    latest = LatestFindings(container.settings, partial(_known, routes), container.live)
    routes.add("/api/system/findings", findings.SystemFindingList(latest))
    routes.add("/api/user/info", profile.Info(container.database))
    routes.add("/api/user/operations", own_operations.OwnOperationList(container.live, routes))
    routes.add("/api/user/profile", profile.Profile(container.database, container.accounts))
    routes.add("/api/user/profile/password", profile.OwnPassword(container.password_change))
    routes.add("/api/user/list", accounts.UserList(container.database))
    routes.add("/api/user", accounts.Users(container.accounts))
    routes.add("/api/user/export", user_tables.UserExport(container.database))
    routes.add("/api/user/import", user_tables.UserTableImport(container.user_import))
    routes.add("/api/user/{id}", accounts.OneUser(container.database, container.accounts))
    routes.add("/api/user/{id}/password", account_state.UserPassword(container.password_reset))
    routes.add("/api/user/{id}/status", account_state.UserStatus(container.accounts))
    routes.add("/api/user/{id}/keys", api_keys.UserKeys(container.api_keys))
    routes.add("/api/user/{id}/keys/{key_id}", api_keys.OneUserKey(container.api_keys))
    downloads = Downloads(container.objects, container.presigned)
    routes.add("/api/file/list", files.FileList(container.database))
    routes.add("/api/file", files.Files(container.uploads, container.upload.idle_timeout))
    routes.add("/api/file/{id}", files.OneFile(container.database, downloads, container.uploads))
    routes.add("/api/file/{id}/public-link", public_links.FileLink(container.links))
    routes.add("/api/public/file/{token}", public_links.PublicFile(container.links, downloads))
    _add_access(routes, container)
    add_extensions(routes, container, extensions)
    _add_outside(routes, container)
    access_cookie = cookies.access if cookies.on else None
    add_docs(
        routes,
        info=INFO,
        tags=TAGS | {one.name: f"{one.title}." for one in extensions},
        token=container.token_header,
        access_cookie=access_cookie,
    )
    add_guide(routes)
    add_console(routes, enabled=container.console, token=container.token_header)
    return routes


def _add_outside(routes: Routes, container: Container) -> None:
    """Register what everybody may read without a login."""
    routes.add_outside("/health/live", Live())
    routes.add_outside(
        "/health/ready",
        Ready(
            container.readiness, container.operator_token, partial(facts, container.worker, container.watch)
        ),
    )
    metrics = Metrics(container.metrics, container.installation.samples, container.operator_token)
    routes.add_outside("/metrics", metrics)
    routes.add_outside("/.well-known/jwks.json", key_set.KeySet(container.tokens))
    routes.add_outside("/", StartPage(container.operator_token, guide=is_built(), console=container.console))


def _known(routes: Routes, _shipped: Shipped) -> list[KnownRoute]:
    """Return the guarded routes, whose lines the start has compared with the code."""
    return [KnownRoute(one.object, one.summary, one.access) for one in routes.operations]


def _add_rights(routes: Routes, container: Container) -> None:
    """Register the endpoints of policy, resources, menus and roles."""
    asked = container.database, container.live, container.turns
    routes.add("/api/policy", policy.InForce(container.live, container.watch))
    routes.add("/api/policy/coverage", coverage.PolicyCoverage(container.live, routes, container.turns))
    routes.add("/api/policy/explain", explain.Explain(*asked, container.past))
    routes.add("/api/policy/reload", policy.Reload(container.changes))
    routes.add("/api/policy/revisions", revisions.RevisionList(container.database))
    routes.add("/api/policy/revisions/{revision}", revisions.OneRevision(container.database))
    routes.add("/api/policy/who", who_may.WhoMay(*asked))
    routes.add("/api/policy/who/users", who_may.WhoUsers(*asked))
    routes.add("/api/policy/what", who_may.WhatMay(*asked))
    routes.add("/api/policy/what-if", what_if.WhatIf(*asked))
    routes.add("/api/policy/matrix", matrix.RoleMatrix(*asked))
    routes.add("/api/policy/permission-map", permission_map.PermissionBits(container.live))
    routes.add("/api/policy/openings", who_may.Openings(container.live, container.turns))
    routes.add("/api/policy/revisions/{revision}/restore", restore.Restore(container.restore))
    routes.add("/api/policy/diff", revisions.Diff(container.database, container.past, container.turns))
    routes.add("/api/resource/list", resources.ResourceList(container.database, container.live))
    routes.add("/api/resource", resources.Resources(container.resources))
    routes.add(
        "/api/resource/{id}",
        resources.OneResource(container.database, container.live, container.resources),
    )
    routes.add("/api/resource/{id}/enabled", resources.ResourceState(container.resources))
    routes.add(
        "/api/resource/{id}/buttons",
        bindings.ResourceButtons(container.database, container.live, container.resources),
    )
    routes.add("/api/service/list", services.ServiceList(container.database, container.live))
    routes.add("/api/service", services.Services(container.services))
    routes.add(
        "/api/service/{id}", services.OneService(container.database, container.live, container.services)
    )
    routes.add("/api/opening/list", openings.OpeningList(container.database, container.live))
    routes.add("/api/opening", openings.Openings(container.openings))
    routes.add(
        "/api/opening/{id}", openings.OneOpening(container.database, container.live, container.openings)
    )
    routes.add("/api/menu/mine", own_menus.MenuMine(container.database, container.live))
    routes.add("/api/menu/list", menus.MenuList(container.database))
    routes.add("/api/menu", menus.Menus(container.menus))
    routes.add("/api/menu/{id}", menus.OneMenu(container.database, container.menus))
    routes.add("/api/menu/{id}/resources", bindings.ButtonResources(container.database, container.resources))
    routes.add("/api/role/list", roles.RoleList(container.database))
    routes.add("/api/role", roles.Roles(container.roles))
    routes.add("/api/role/export", role_tables.RoleExport(container.database))
    routes.add("/api/role/import", role_tables.RoleTableImport(container.role_import))
    routes.add("/api/role/{id}", roles.OneRole(container.database, container.roles))
    routes.add("/api/role/{id}/permissions", roles.RolePermissions(container.database, container.roles))


def _add_access(routes: Routes, container: Container) -> None:
    """Register the endpoints that other services and their proxies ask."""
    log = container.decision_log
    note = None if log is None else DecisionEvents(log).note_evaluation
    forward_to = container.guard, Answers(), container.assertions, note
    routes.add("/access/v1/forward/caddy/{service}", forward.ForwardCaddy(*forward_to))
    routes.add("/access/v1/forward/traefik/{service}", forward.ForwardTraefik(*forward_to))
    routes.add("/access/v1/forward/nginx/{service}", forward.ForwardNginx(*forward_to))
    routes.add("/access/v1/forward/envoy/{service}", forward.ForwardEnvoy(*forward_to))
    asked = container.evaluator, note
    routes.add("/access/v1/evaluation", evaluation.AccessEvaluation(*asked))
    routes.add("/access/v1/evaluations", evaluation.AccessEvaluations(*asked))
    routes.add("/access/v1/search/subject", search.AccessSubjects(container.search))
    routes.add("/access/v1/search/resource", search.AccessResources(container.search))
    routes.add("/access/v1/search/action", search.AccessActions(container.search))
    routes.add_outside(
        "/.well-known/authzen-configuration", metadata.AccessConfiguration(container.public_url)
    )


def _add_logs(routes: Routes, container: Container) -> None:
    """Register the endpoints of the logs."""
    routes.add("/api/operation-log/list", operations.OperationList(container.logs))
    routes.add("/api/operation-log/export", operations.OperationExport(container.logs))
    routes.add("/api/operation-log/{id}", operations.OneOperation(container.database))
    routes.add("/api/login-log/list", logins.LoginList(container.logs))
    routes.add("/api/login-log/export", logins.LoginExport(container.logs))
    routes.add("/api/user/profile/login-logs", logins.OwnLogins(container.logs))


def _add_jobs(routes: Routes, container: Container) -> None:
    routes.add("/api/jobs", jobs.Jobs(container.database, container.scheduler))
    routes.add("/api/jobs/{name}/run", jobs.RunOfJob(container.database, container.scheduler))
    routes.add("/api/jobs/{name}/paused", jobs.PausedJob(container.database, container.scheduler))
