"""The guarded routes of this version, from its endpoint lines or from the code.

Tests ensure that the shipped lines and the code agree. Reading the code imports the whole service, which
takes a second. Commands do that only for the operator's own lines, and for facts that the lines lack.
"""

from service.authz.engine.rules import ENDPOINT
from service.authz.publishing.shipped import Shipped
from service.authz.publishing.sync import KnownRoute
from service.settings import Settings


def known_routes(settings: Settings, shipped: Shipped) -> list[KnownRoute]:
    """Return the routes without summaries; RoutesError if lines that ``settings`` name don't fit the code."""
    if settings.policy.folder is not None or settings.policy.extensions:
        return routes_of_code(shipped)
    codes: dict[str, list[str]] = {}
    for rule in shipped.endpoints:
        if rule.layer == ENDPOINT:
            codes.setdefault(rule.object, []).append(rule.code)
    return [KnownRoute(name, "", tuple(access)) for name, access in codes.items()]


def routes_of_code(shipped: Shipped) -> list[KnownRoute]:
    """Return the routes of the code; RoutesError unless they fit the lines of ``shipped``."""
    from service.app import check_routes

    return [
        KnownRoute(operation.object, operation.summary, operation.access)
        for operation in check_routes(shipped).operations
    ]
