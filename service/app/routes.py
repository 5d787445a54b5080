"""The table of routes: the endpoint of each template, with its dependencies."""

from collections.abc import Sequence
from functools import partial
from operator import attrgetter

from service.app.container import Container
from service.app.extensions import Dependencies, add_extensions
from service.app.parts import only
from service.app.readiness import facts
from service.endpoints import (
    bindings,
    menus,
    policy,
    profile,
    request_rules,
    resources,
    roles,
    sessions,
    tokens,
    users,
)
from service.endpoints.health import Live, Ready
from service.kernel.extension import Extension
from service.kernel.feature import off_by, sole
from service.web.requests.application import Application
from service.web.requests.routes import Routes


def add_routes(app: Application, container: Container, extensions: Sequence[Extension]) -> Routes:
    """Register every endpoint; those of the groups are guarded, the others are added as outside them.

    Those of ``extensions`` are among the guarded ones.
    """
    policy = container.policy
    impact_of = only(container.parts.values(), attrgetter("impact_of"))
    assert impact_of is not None  # noqa: S101 - a feature without a switch has it
    routes = Routes(
        app,
        container.guard,
        policy.acknowledged.by,
        impact_of,
        container.cross_origin,
        followed=only(container.parts.values(), attrgetter("followed")),
        idempotent_writes=sole("idempotent-writes")(container),
    )
    features = container.features
    app.absent = off_by(container.settings.features.off)
    app.dialects += [feature.part(feature.dialect) for feature in features if feature.dialect]
    for add in (
        _add_sign_in,
        _add_online,
        _add_policy,
        _add_resources,
        _add_menus_and_roles,
        _add_own_account,
        _add_users,
    ):
        add(routes, container)
    for feature in features:
        if feature.routes:
            feature.part(feature.routes)(routes, container)
    add_extensions(routes, Dependencies(container.stores.database, container.policy.live), extensions)
    _add_outside(routes, container)
    sole("api-document")(routes, container, extensions)  # it knows all other routes
    return routes


def _add_sign_in(routes: Routes, container: Container) -> None:
    parts = container.sign_in
    cookies = parts.cookies
    routes.serve(tokens.Login(parts.logins, cookies))
    if cookies.on:
        routes.serve(tokens.RefreshInCookieMode(parts.refresh, parts.throttle, cookies))
    else:
        routes.serve(tokens.Refresh(parts.refresh, parts.throttle))
    routes.serve(sessions.Logout(parts.sessions, cookies))
    routes.serve(sessions.LogoutAll(container.administration.kicks, cookies))
    routes.serve(sessions.OwnSessions(parts.sessions))
    routes.serve(sessions.SessionOnDevice(parts.sessions, cookies))


def _add_online(routes: Routes, container: Container) -> None:
    parts = container.administration
    routes.serve(sessions.OnlineList(container.sign_in.sessions))
    routes.serve(sessions.OnlineUserSessions(parts.kicks))
    routes.serve(sessions.OnlineUserBan(parts.bans))
    routes.serve(sessions.OnlineUserDevice(parts.kicks))


def _add_policy(routes: Routes, container: Container) -> None:
    parts = container.policy
    routes.serve(policy.InForce(parts.live, parts.watch))
    routes.serve(policy.Reload(parts.changes))
    routes.serve(policy.PermissionBits(parts.live))


def _add_resources(routes: Routes, container: Container) -> None:
    database = container.stores.database
    live = container.policy.live
    changes = container.administration
    resource = database, live, changes.resources
    routes.serve_all(resources, *resource)
    routes.serve(bindings.ResourceButtons(*resource))


def _add_menus_and_roles(routes: Routes, container: Container) -> None:
    database, changes = container.stores.database, container.administration
    live = container.policy.live
    menu = database, live, changes.menus
    role = database, live, changes.roles
    resource = database, live, changes.resources
    routes.serve(menus.MenuMine(database, live, container.stores.sessions.synchronized.instant))
    routes.serve(menus.MenuList(*menu))
    routes.serve(menus.Menus(*menu))
    routes.serve(menus.OneMenu(*menu))
    routes.serve(bindings.ButtonResources(*resource))
    routes.serve_all(roles, *role)
    routes.serve(request_rules.RuleOfRole(*role))


def _add_own_account(routes: Routes, container: Container) -> None:
    database = container.stores.database
    routes.serve(profile.Info(database, container.stores.sessions.synchronized.instant))
    routes.serve(profile.OwnOperationList(container.policy.live, routes))
    own = container.administration.own_credentials
    routes.serve(profile.Profile(database, container.administration.accounts, own))
    routes.serve(profile.OwnPassword(own))


def _add_users(routes: Routes, container: Container) -> None:
    database, changes = container.stores.database, container.administration
    user = database, container.policy.live, changes.accounts
    routes.serve(users.UserList(*user))
    routes.serve(users.Users(*user))
    routes.serve(users.OneUser(*user))
    routes.serve(users.UserPassword(changes.password_reset))
    routes.serve(users.UserStatus(*user))


def _add_outside(routes: Routes, container: Container) -> None:
    """Register the public endpoints, readable without a login."""
    node = container.node
    routes.serve_outside(tokens.KeySet(container.sign_in.tokens))
    routes.serve_outside(Live())
    details = partial(facts, container.policy.watch)
    routes.serve_outside(Ready(node.readiness, node.operator_token, details))
