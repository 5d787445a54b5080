"""The table of routes: which endpoint, made of which parts, serves which template."""

from __future__ import annotations

from functools import partial
from typing import Final

from falcon.asgi import App, Response

from service import __version__
from service.app.parts import Parts
from service.app.readiness import facts
from service.endpoints import (
    auth,
    binding,
    coverage,
    file,
    login_log,
    menu,
    online,
    operation_log,
    own_menu,
    policy,
    profile,
    public_file,
    resource,
    role,
    role_table,
    sessions,
    user,
    user_account,
    user_table,
)
from service.web.docs import add_docs
from service.web.downloads import Downloads
from service.web.health import Live, Ready
from service.web.metrics import Metrics
from service.web.request import Request
from service.web.routes import Routes

TITLE: Final = "Portcullis"
DESCRIPTION: Final = "An administration service whose every authorization decision is one Casbin decision."


def add_routes(app: App[Request, Response], parts: Parts) -> Routes:
    """Register every endpoint: those of the group pass the gate, the others are named as outside it."""
    routes = Routes(app, parts.gate)
    cookies = parts.cookies
    routes.add("/api/auth/login", auth.Login(parts.attempts, cookies))
    if cookies.on:
        routes.add("/api/auth/refresh", auth.RefreshInCookieMode(parts.refresh, parts.throttle, cookies))
    else:
        routes.add("/api/auth/refresh", auth.Refresh(parts.refresh, parts.throttle))
    routes.add("/api/auth/logout", sessions.Logout(parts.sessions, cookies))
    routes.add("/api/auth/logout/all", sessions.LogoutAll(parts.sessions, cookies))
    routes.add("/api/auth/sessions", sessions.Sessions(parts.sessions))
    routes.add("/api/auth/sessions/{device}", sessions.SessionOnDevice(parts.sessions, cookies))
    routes.add("/api/online/list", online.OnlineList(parts.sessions))
    routes.add("/api/online/{login_id}", online.OnlineUserSessions(parts.kicks))
    routes.add("/api/online/{login_id}/ban", online.OnlineUserBan(parts.bans))
    routes.add("/api/online/{login_id}/{device}", online.OnlineUserDevice(parts.kicks))
    _add_rights(routes, parts)
    _add_logs(routes, parts)
    routes.add("/api/user/info", profile.Info(parts.database))
    routes.add("/api/user/profile", profile.Profile(parts.accounts))
    routes.add("/api/user/profile/password", profile.OwnPassword(parts.password_change))
    routes.add("/api/user/list", user.UserList(parts.database))
    routes.add("/api/user", user.Users(parts.accounts))
    routes.add("/api/user/export", user_table.UserExport(parts.database))
    routes.add("/api/user/import", user_table.UserTableImport(parts.user_import))
    routes.add("/api/user/{id}", user.OneUser(parts.database, parts.accounts))
    routes.add("/api/user/{id}/password", user_account.UserPassword(parts.password_reset))
    routes.add("/api/user/{id}/status", user_account.UserStatus(parts.accounts))
    downloads = Downloads(parts.objects, parts.presigned)
    routes.add("/api/file/list", file.FileList(parts.database))
    routes.add("/api/file", file.Files(parts.uploads, parts.upload.idle_timeout))
    routes.add("/api/file/{id}", file.OneFile(parts.database, downloads, parts.uploads))
    routes.add("/api/file/{id}/public-link", public_file.FileLink(parts.links))
    routes.add("/api/public/file/{token}", public_file.PublicFile(parts.links, downloads))
    routes.add_outside("/health/live", Live())
    routes.add_outside(
        "/health/ready",
        Ready(parts.readiness, parts.operator_token, partial(facts, parts.worker, parts.watch)),
    )
    routes.add_outside("/metrics", Metrics(parts.metrics, parts.operator_token))
    access_cookie = cookies.access if cookies.on else None
    add_docs(routes, title=TITLE, version=__version__, description=DESCRIPTION, access_cookie=access_cookie)
    return routes


def _add_rights(routes: Routes, parts: Parts) -> None:
    """Register what says who may do what: the policy, resources, menus and roles."""
    routes.add("/api/policy", policy.InForce(parts.live, parts.watch))
    routes.add("/api/policy/coverage", coverage.PolicyCoverage(parts.live, routes))
    routes.add("/api/policy/explain", policy.Explain(parts.database, parts.live))
    routes.add("/api/policy/reload", policy.Reload(parts.changes))
    routes.add("/api/resource/list", resource.ResourceList(parts.database))
    routes.add("/api/resource", resource.Resources(parts.resources))
    routes.add("/api/resource/{id}", resource.OneResource(parts.database, parts.resources))
    routes.add("/api/resource/{id}/enabled", resource.ResourceState(parts.resources))
    routes.add("/api/resource/{id}/buttons", binding.ResourceButtons(parts.database, parts.resources))
    routes.add("/api/menu/mine", own_menu.MenuMine(parts.database))
    routes.add("/api/menu/list", menu.MenuList(parts.database))
    routes.add("/api/menu", menu.Menus(parts.menus))
    routes.add("/api/menu/{id}", menu.OneMenu(parts.database, parts.menus))
    routes.add("/api/menu/{id}/resources", binding.ButtonResources(parts.database, parts.resources))
    routes.add("/api/role/list", role.RoleList(parts.database))
    routes.add("/api/role", role.Roles(parts.roles))
    routes.add("/api/role/export", role_table.RoleExport(parts.database))
    routes.add("/api/role/import", role_table.RoleTableImport(parts.role_import))
    routes.add("/api/role/{id}", role.OneRole(parts.database, parts.roles))
    routes.add("/api/role/{id}/permissions", role.RolePermissions(parts.database, parts.roles))


def _add_logs(routes: Routes, parts: Parts) -> None:
    """Register what reads the logs."""
    routes.add("/api/operation-log/list", operation_log.OperationList(parts.logs))
    routes.add("/api/operation-log/export", operation_log.OperationExport(parts.logs))
    routes.add("/api/operation-log/{id}", operation_log.OneOperation(parts.database))
    routes.add("/api/login-log/list", login_log.LoginList(parts.logs))
    routes.add("/api/login-log/export", login_log.LoginExport(parts.logs))
    routes.add("/api/user/profile/login-logs", login_log.OwnLogins(parts.logs))
