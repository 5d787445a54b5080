"""An extension whose endpoints do nothing: what a real worker takes to serve them is the price of the guard.

``/api/bench/read`` is guarded as most reads are; a call of ``/api/bench/logged`` is kept in the operation log
as well. Both are registered resources, bound to the codes of their endpoints.
"""

from pathlib import Path
from typing import Annotated, Final

from msgspec import Meta

from service.extending import (
    Dependencies,
    Extension,
    ExtensionRoutes,
    Permission,
    RequestContext,
    Schema,
    SeedResource,
    logged,
    needs,
)

READ: Final = "/api/bench/read"
LOGGED: Final = "/api/bench/logged"


class Answer(Schema):
    """A small answer."""

    status: Annotated[str, Meta(max_length=16)] = "open"


class Read:
    """A guarded read."""

    @needs("bench:read", name="benchRead")
    async def on_get(self, context: RequestContext) -> Answer:  # noqa: ARG002 - every responder takes it
        """Answer."""
        return Answer()


class Logged:
    """A guarded read that the operation log keeps, with its answer."""

    @needs("bench:read", name="benchLogged")
    @logged("ping", "QUERY", module="bench")
    async def on_get(self, context: RequestContext) -> Answer:  # noqa: ARG002 - every responder takes it
        """Answer."""
        return Answer()


def _add_routes(routes: ExtensionRoutes, _offered: Dependencies) -> None:
    routes.add(READ, Read())
    routes.add(LOGGED, Logged())


extension = Extension(
    name="bench",
    title="Benchmark",
    permissions=(Permission("bench:read", "Do nothing", (f"GET {READ}", f"GET {LOGGED}")),),
    resources=(
        SeedResource("bench.read", "Do nothing", "GET", READ),
        SeedResource("bench.logged", "Do nothing, and be logged", "GET", LOGGED),
    ),
    policies=Path(__file__).parent / "policies",
    add_routes=_add_routes,
)
