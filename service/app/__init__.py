"""The composition root: builds the container from settings and the routes from the container."""

import secrets
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from operator import attrgetter

from service.app.container import Container, Lifespan
from service.app.parts import only
from service.app.routes import add_routes
from service.authn.step_up_methods import StepUpMethods
from service.authz.publishing.shipped import Shipped, read_shipped
from service.kernel.core_sentences import sentence
from service.kernel.feature import off_by
from service.kernel.operator_error import OperatorError
from service.kernel.worker_slot import Slot
from service.records.database.row_mapper import prepare_selects
from service.settings import Features, Settings
from service.settings.values import Names
from service.web.messages.address import address_behind
from service.web.messages.context import RequestContext
from service.web.requests.application import Application
from service.web.requests.middleware import RequestMiddleware
from service.web.requests.routes import Routes

__all__ = ["Container", "Lifespan", "application", "check_routes", "create_app", "describe_routes"]


def create_app(settings: Settings, shipped: Shipped, slot: Slot | None = None) -> RequestMiddleware:
    """Return the ASGI application of one worker; it connects when its lifespan starts."""
    return application(Container(settings, shipped, slot), shipped)


def application(container: Container, shipped: Shipped) -> RequestMiddleware:
    """Return the ASGI application of ``container``."""
    prepare_selects()
    settings, parts = container.settings, container.parts.values()
    app = Application()
    routes = add_routes(app, container, shipped.extensions)
    routes.check((*shipped.endpoints, *shipped.assurance), shipped.opened_by)
    app.add_middleware(Lifespan(container))
    address_of = address_behind(settings.server.trusted_proxies)
    stop = partial(_stop, container)
    return RequestMiddleware(
        app,
        address_of,
        _finished(container),
        container.trail.collector.operation,
        begin=only(parts, attrgetter("arrived")) or _nothing,
        stop=stop,
        cross_origin=container.cross_origin,
        takes_path=routes.takes_path,
        folders=routes.folders,
        tracing=only(parts, attrgetter("tracing")),
        refused_reads=container.trail.journal.refused_reads,
        methods=StepUpMethods(
            container.sign_in.second_factors,
            partial(container.sign_in.closed_passwords.includes, container.stores.database),
        ),
        requestable=only(parts, attrgetter("requestable")),
    )


def _stop(container: Container) -> None:
    """Announce that the worker is about to stop."""
    container.node.readiness.withdraw(sentence("service_stopping"))
    for part in container.parts.values():
        part.stops()


def _nothing() -> None:
    """Stand in for what counts requests, where nothing does."""


def _finished(container: Container) -> Sequence[Callable[[RequestContext], None]]:
    """Return the functions to call with each finished request, in this order."""
    forwarding = container.node.environment_checks.forwarding
    return [forwarding.note, *(part.note for part in container.parts.values() if part.note is not None)]


def describe_routes(off: tuple[str, ...] = ()) -> None:
    """Read the annotations of all responders: for the process that workers are forked from.

    Those of the features ``off`` are left out, and not imported. Descriptions and the readers of bodies and
    queries are cached; they take each process a fifth of a second.
    """
    with suppress(OperatorError):  # the preparation of the start finds it too, and says so
        check_routes(read_shipped(off=off_by(off)), Settings(features=Features(off=Names(off))))


def check_routes(
    shipped: Shipped, settings: Settings | None = None, *, known: Routes | None = None
) -> Routes:
    """Return all routes; raises RoutesError unless operation metadata, policy lines and catalogue agree.

    ``known`` are the routes with the same extensions, where they were made before: they need not be made
    anew to check other lines.
    """
    routes = made_routes(shipped, settings) if known is None else known
    routes.check((*shipped.endpoints, *shipped.assurance), shipped.opened_by)
    return routes


def made_routes(shipped: Shipped, settings: Settings | None = None) -> Routes:
    """Return all routes, unchecked.

    It uses a container of its own, which is never started and connects to nothing. With ``settings`` it is
    the one of a worker, and raises what a worker would: stores and secret may still be missing.
    """
    off = Names(feature.name for feature in shipped.off)
    given = settings or Settings(features=Features(off=off))
    database = given.database
    redis = given.redis
    auth = given.auth
    filled = replace(
        given,
        database=replace(database, url=database.url or "postgresql:///"),
        redis=replace(redis, url=redis.url or "unix:///dev/null"),
        auth=replace(auth, jwt_secret=auth.jwt_secret or secrets.token_hex(32)),
    )
    container = Container(filled, shipped)
    try:
        return add_routes(Application(), container, shipped.extensions)
    finally:
        container.sign_in.passwords.close()
