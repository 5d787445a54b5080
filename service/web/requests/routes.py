"""The table of routes: which endpoint serves which URI template, and does every route say who may call."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, Final, NoReturn

from falcon.asgi import App, Response
from falcon.constants import COMBINED_METHODS
from falcon.routing import CompiledRouter

from service.authz.engine.paths import registered_fault
from service.authz.engine.rules import METHODS, Rule
from service.authz.lint.coverage import catalogue_faults, coverage_faults
from service.errors import MethodNotAllowed
from service.kernel.operator_error import OperatorError
from service.web.requests.description import Operation
from service.web.requests.guard import AuthorizationGuard
from service.web.requests.operation import Responder, responder_of
from service.web.requests.request import Request
from service.web.requests.signature import describe

GROUP: Final = "/api/"
"""What the templates of all guarded routes start with."""


class RoutesError(OperatorError):
    """Routes that must not be served; ``faults`` has a sentence for each."""

    def __init__(self, faults: Iterable[str]) -> None:
        self.faults = tuple(faults)
        super().__init__("\n".join(self.faults))


class Router(CompiledRouter):
    """Falcon's router; the map from methods to responders is made by ``Routes``, whole."""

    def map_http_methods(self, resource: object, **_options: Any) -> dict[str, Any]:
        """Return ``resource``, which is that map already."""
        assert isinstance(resource, _Methods)  # noqa: S101 - Routes alone adds routes
        return resource


class _Methods(dict[str, Responder]):
    """Responders by method. Any method without one is answered 405, whether Falcon knows it or not."""

    def __init__(self, responders: dict[str, Responder]) -> None:
        super().__init__(responders)
        self._refuse = _refuser(sorted(responders))
        # Falcon answers OPTIONS by itself where nothing else does.
        for method in COMBINED_METHODS:
            self.setdefault(method, self._refuse)

    def __missing__(self, method: str) -> Responder:
        return self._refuse


def _refuser(allowed: list[str]) -> Responder:
    async def refuse(_request: Request, _response: Response, **_arguments: str) -> NoReturn:
        raise MethodNotAllowed(allowed)

    return refuse


class Routes:
    """Registers endpoints: objects with ``on_get``, ``on_post``, ``on_put``, ``on_patch`` or ``on_delete``.

    ``operations`` are those of the group in the order of registration, ``outside`` those outside it.
    """

    def __init__(self, app: App[Request, Response], guard: AuthorizationGuard) -> None:
        self._app = app
        self._guard = guard
        self._templates: set[str] = set()
        self.operations: list[Operation] = []
        self.outside: list[Operation] = []

    def add(self, template: str, endpoint: object, *, public: Collection[str] = ()) -> None:
        """Serve ``template``, which is in the group, by ``endpoint``, every request through the gate.

        ``public`` names methods that everybody may call, as ``@public`` would.
        """
        if not template.startswith(GROUP):
            raise RoutesError([f"{template} is not in {GROUP}: use add_outside"])
        self.operations += self._add(template, endpoint, self._guard, public)

    def add_outside(self, template: str, endpoint: object) -> None:
        """Serve ``template``, outside the group, by ``endpoint``, to everybody and without the gate."""
        if template.startswith(GROUP):
            raise RoutesError([f"{template} is in {GROUP}: use add"])
        self.outside += self._add(template, endpoint, None, ())

    def check(
        self, endpoint_rules: Iterable[Rule], catalogue: Mapping[str, AbstractSet[str]] | None = None
    ) -> None:
        """Raise RoutesFault with all routes that lack a mark, and all differences from ``endpoint_rules``.

        As well those from ``catalogue``, the codes by endpoint, unless these routes have none.
        Every method but GET needs ``@logged`` as well.
        """
        faults = [
            f"{operation.object}: {operation.name} has no @public, @login or @needs"
            for operation in self.operations
            if not operation.access
        ]
        faults += [
            f"{operation.object}: it is outside {GROUP} and is not guarded, so its mark means nothing"
            for operation in self.outside
            if operation.access
        ]
        faults += [
            f"{operation.object}: it changes something, and has no @logged"
            for operation in self.operations
            if operation.access and operation.method != "GET" and operation.mark.logged is None
        ]
        marked = [
            (operation.method, operation.template, frozenset(operation.access))
            for operation in self.operations
            if operation.access
        ]
        faults += coverage_faults(marked, endpoint_rules)
        faults += [] if catalogue is None else catalogue_faults(marked, catalogue)
        if faults:
            raise RoutesError(faults)

    def _add(
        self, template: str, endpoint: object, guard: AuthorizationGuard | None, public: Collection[str]
    ) -> list[Operation]:
        if fault := registered_fault(template):
            raise RoutesError([f"{template}: {fault}"])
        if template in self._templates:
            raise RoutesError([f"{template} is registered twice"])
        functions = _responders(endpoint)
        if not functions:
            raise RoutesError([f"{template}: {type(endpoint).__qualname__} has no responder"])
        if unknown := set(public) - set(functions):
            raise RoutesError([f"{template}: there is no {', '.join(sorted(unknown))} to declare public"])
        operations = [
            describe(method, template, function, public=method in public)
            for method, function in functions.items()
        ]
        methods = {
            operation.method: responder_of(operation, functions[operation.method], guard)
            for operation in operations
        }
        self._app.add_route(template, _Methods(methods))
        self._templates.add(template)
        return operations


def _responders(endpoint: object) -> dict[str, Callable[..., Any]]:
    found = {method: getattr(endpoint, f"on_{method.lower()}", None) for method in METHODS}
    return {method: function for method, function in found.items() if function is not None}
