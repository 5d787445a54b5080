"""The composition root: settings become parts, parts become routes; one place starts and ends them."""

from __future__ import annotations

import secrets
from dataclasses import replace
from functools import partial

from service.app.lifespan import Lifespan
from service.app.parts import Parts
from service.app.routes import add_routes
from service.authz.shipped import Shipped
from service.kernel.permission_catalogue import codes_by_endpoint
from service.settings import Settings
from service.web.address import address_behind
from service.web.entrance import Entrance, falcon_app
from service.web.routes import Routes

__all__ = ["Lifespan", "Parts", "check_routes", "create_app"]


def create_app(settings: Settings, shipped: Shipped) -> Entrance:
    """Return the ASGI application of one worker; it connects when its lifespan starts."""
    parts = Parts(settings, shipped)
    app = falcon_app()
    add_routes(app, parts).check(shipped.endpoints, codes_by_endpoint())
    app.add_middleware(Lifespan(parts))
    address_of = address_behind(settings.server.trusted_proxies)
    stop = partial(parts.readiness.withdraw, "The service is stopping")
    return Entrance(app, address_of, parts.traffic.count, parts.collector.operation, stop)


def check_routes(shipped: Shipped) -> Routes:
    """Return all routes; RoutesFault unless each has a mark, and lines and catalogue agree with the marks.

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
        routes.check(shipped.endpoints, codes_by_endpoint())
    finally:
        parts.passwords.close()
    return routes
