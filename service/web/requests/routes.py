"""The table of routes: endpoints by URI template, and the check that every route declares its access."""

from collections.abc import Callable, Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from types import ModuleType
from typing import Any, NoReturn

from falcon.constants import COMBINED_METHODS

from service.authz.engine.coverage import catalogue_faults, coverage_faults
from service.authz.engine.paths import registered_fault
from service.authz.engine.rules import METHODS, Rule
from service.errors import MethodNotAllowed
from service.kernel.operator_error import FaultsError
from service.web.messages.context import RequestContext
from service.web.messages.dry_run import ImpactOf
from service.web.messages.operation_metadata import GROUPS, Operation, Responders
from service.web.requests.application import Answer, Application, MethodMap, Responder
from service.web.requests.cors import CrossOrigin
from service.web.requests.guard import AuthorizationGuard
from service.web.requests.idempotency import IdempotentWrites, leaves_keys_open
from service.web.requests.operation import Acknowledged, Followed, describe, responder_of


class RoutesError(FaultsError):
    """The routes can't be served; ``faults`` has a sentence for each reason."""


class _Methods(MethodMap):
    """Responders by method, and one for all other methods, whether Falcon knows them or not."""

    def __init__(self, responders: Mapping[str, Responder], others: Responder) -> None:
        super().__init__(responders)
        self._others = others
        for method in COMBINED_METHODS:
            self.setdefault(method, others)

    def __missing__(self, method: str) -> Responder:
        return self._others


def _refuser(allowed: list[str]) -> Responder:
    async def refuse(_context: RequestContext, _arguments: dict[str, Any]) -> NoReturn:
        raise MethodNotAllowed(allowed)

    return refuse


def _preflight(allowed: list[str], cross_origin: CrossOrigin) -> Responder:
    async def preflight(context: RequestContext, _arguments: dict[str, Any]) -> Answer:
        return cross_origin.preflight(context, allowed)

    return preflight


class Routes:
    """Registers endpoints: objects with ``on_get``, ``on_post``, ``on_put``, ``on_patch`` or ``on_delete``.

    ``operations`` are those of the groups in order of registration, ``outside`` all others. ``folders`` are
    paths that are also served with a slash after them.
    """

    def __init__(
        self,
        app: Application,
        guard: AuthorizationGuard,
        acknowledged: Acknowledged | None = None,
        impact_of: ImpactOf | None = None,
        cross_origin: CrossOrigin | None = None,
        *,
        followed: Followed | None = None,
        idempotent_writes: IdempotentWrites | None = None,
    ) -> None:
        """``acknowledged`` is asked after each operation that publishes; ``impact_of`` serves dry runs.

        ``followed`` is waited for after each change of rights.

        ``cross_origin`` answers preflight requests; without it there are none. ``idempotent_writes`` serves
        requests with an ``Idempotency-Key``.
        """
        self._app = app
        self._guard = guard
        self._acknowledged = acknowledged
        self._impact_of = impact_of
        self._followed = followed
        self._idempotent_writes = idempotent_writes
        self._cross_origin = cross_origin or CrossOrigin()
        self._templates: set[str] = set()
        self.operations: list[Operation] = []
        self.outside: list[Operation] = []
        self.folders: list[str] = []

    def serve(self, *endpoints: Responders) -> None:
        """Serve each endpoint at the template in the head of its class; every request passes the guard."""
        for endpoint in endpoints:
            self.add(endpoint.at, endpoint)

    def serve_all(self, module: ModuleType, *parts: object) -> None:
        """Serve all endpoints of ``module``, in the order of their classes, each made from ``parts``."""
        own = [kind for kind in vars(module).values() if getattr(kind, "__module__", "") == module.__name__]
        kinds = [kind for kind in own if isinstance(kind, type) and issubclass(kind, Responders) and kind.at]
        self.serve(*(kind(*parts) for kind in kinds))

    def add(self, template: str, endpoint: object) -> None:
        """Serve ``template``, within a group, by ``endpoint``; every request passes the guard."""
        if not template.startswith(GROUPS):
            raise RoutesError(
                [f"{template!r} of {type(endpoint).__qualname__} is not in {' or '.join(GROUPS)}"]
            )
        self.operations += self._add(template, endpoint, self._guard)

    def serve_outside(self, endpoint: Responders) -> None:
        """Serve ``endpoint`` at the template in the head of its class, outside the groups."""
        self.add_outside(endpoint.at, endpoint)

    def add_outside(self, template: str, endpoint: object) -> None:
        """Serve ``template``, outside the groups, by ``endpoint``, without the guard.

        The responder of ``GET`` also answers ``HEAD``, without the body (RFC 9110 §9.3.2).
        """
        if template.startswith(GROUPS):
            raise RoutesError([f"{template} is in {' or '.join(GROUPS)}: use add"])
        self.outside += self._add(template, endpoint, None)

    def add_page_of_links(self, template: str) -> None:
        """Serve the page at ``template`` too where a program has encoded the ``#`` of a link to it.

        Its script says that the link is broken.
        """
        self._app.pages.append(template)

    def check(
        self, endpoint_rules: Collection[Rule], catalogue: Mapping[str, AbstractSet[str]] | None = None
    ) -> None:
        """Raise RoutesError with all routes without access, and all differences from ``endpoint_rules``.

        Also with those from ``catalogue``, the codes by endpoint, if it is given. Every method except GET
        also needs ``@writes``, ``@logged`` or ``@asks``, and each ``POST`` that creates something or answers
        a secret a declaration about ``Idempotency-Key``.
        """
        faults = [
            f"{operation.object}: {operation.name} has no @public, @login or @needs"
            for operation in self.operations
            if not operation.access
        ]
        faults += [
            f"{operation.object}: it is in no group and not guarded, so its declared access has no effect"
            for operation in self.outside
            if operation.access
        ]
        faults += [
            f"{operation.object}: it changes something, and has no @writes"
            for operation in self.operations
            if operation.access
            and operation.method != "GET"
            and operation.metadata.logged is None
            and not operation.metadata.asks
        ]
        faults += [
            f"{operation.object}: it creates something or answers a secret, and names neither "
            "idempotent nor refuses_keys"
            for operation in self.operations
            if leaves_keys_open(operation)
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

    def _add(self, template: str, endpoint: object, guard: AuthorizationGuard | None) -> list[Operation]:
        if fault := registered_fault(template):
            raise RoutesError([f"{template}: {fault}"])
        if template in self._templates:
            raise RoutesError([f"{template} is registered twice"])
        functions = _responders(endpoint)
        if not functions:
            raise RoutesError([f"{template}: {type(endpoint).__qualname__} has no responder"])
        operations = [
            describe(method, template, function, dialect=self._app.dialect_of(template))
            for method, function in functions.items()
        ]
        responders = {
            operation.method: responder_of(
                operation,
                functions[operation.method],
                guard,
                self._acknowledged,
                self._impact_of,
                followed=self._followed,
                idempotent_writes=self._idempotent_writes,
            )
            for operation in operations
        }
        if guard is None and "GET" in responders:
            responders["HEAD"] = responders["GET"]
        self._app.add_route(template, self._methods(template, operations, responders))
        self._templates.add(template)
        return operations

    def _methods(
        self, template: str, operations: Sequence[Operation], responders: dict[str, Responder]
    ) -> _Methods:
        """Return the methods of a route; others are answered 405, unless the route accepts any method."""
        if any(operation.subrequest for operation in operations):
            if list(responders) != ["GET"]:
                raise RoutesError(
                    [f"{template}: an operation for any method must be the only one, declared as GET"]
                )
            return _Methods({}, responders["GET"])
        allowed = sorted(responders)
        responders["OPTIONS"] = _preflight(allowed, self._cross_origin)
        return _Methods(responders, _refuser(allowed))

    @property
    def takes_path(self) -> list[str]:
        """The templates after which the raw path of another request follows."""
        return [operation.template for operation in self.operations if operation.metadata.takes_path]


def _responders(endpoint: object) -> dict[str, Callable[..., Any]]:
    functions = {method: getattr(endpoint, f"on_{method.lower()}", None) for method in METHODS}
    return {method: function for method, function in functions.items() if function is not None}
