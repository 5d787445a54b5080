"""Registers the endpoints of extensions, each below its own prefix."""

from collections.abc import Sequence
from dataclasses import dataclass

from service.authz.publishing.live import LivePolicy
from service.kernel.extension import Extension
from service.records.database.transactions import Database
from service.web.requests.routes import Routes, RoutesError


@dataclass(frozen=True, slots=True)
class Dependencies:
    """Dependencies of the endpoints of extensions: the worker's database, and the policy in force."""

    database: Database
    live: LivePolicy


class ExtensionRoutes:
    """The routes that one extension may add; extensions can reach nothing else by it."""

    def __init__(self, routes: Routes, extension: Extension) -> None:
        self._routes = routes
        self._extension = extension

    def add(self, template: str, endpoint: object) -> None:
        """Serve ``template`` by ``endpoint``, an object with ``on_get``, ``on_post`` and so on.

        Every request passes the guard. Raises RoutesError unless ``template`` is below the prefix.
        """
        if not self._extension.owns_path(template):
            raise RoutesError([f"{template} is not below {self._extension.prefix}"])
        self._routes.add(template, endpoint)


def add_extensions(routes: Routes, offered: Dependencies, extensions: Sequence[Extension]) -> None:
    """Register the endpoints of ``extensions``, after all others; they may use what is ``offered``.

    Raises RoutesError for an endpoint outside the prefix of its extension, and for a prefix in use.
    """
    known = [operation.template for operation in (*routes.operations, *routes.outside)]
    taken = [candidate for candidate in extensions if any(map(candidate.owns_path, known))]
    if taken:
        raise RoutesError(
            f"{clash.prefix}, the prefix of an extension, is reserved for the service" for clash in taken
        )
    for extension in extensions:
        extension.add_routes(ExtensionRoutes(routes, extension), offered)
