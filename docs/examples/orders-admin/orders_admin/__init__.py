"""An extension: it administers the orders of a shop, at /api/orders."""

from __future__ import annotations

from pathlib import Path

from orders_admin.endpoints import OneOrder, Orders
from orders_admin.orders import OrderBook
from service.extending import Dependencies, Extension, ExtensionRoutes, Permission, SeedResource

HERE = Path(__file__).parent


def add_routes(routes: ExtensionRoutes, offered: Dependencies) -> None:
    book = OrderBook(offered.database)
    routes.add("/api/orders", Orders(book))
    routes.add("/api/orders/{id}", OneOrder(book))


extension = Extension(
    name="orders",
    title="Orders",
    icon="cart",
    permissions=(
        Permission("orders:order:read", "Read orders", ("GET /api/orders", "GET /api/orders/{id}")),
        Permission("orders:order:create", "Enter orders", ("POST /api/orders",)),
        Permission("orders:order:delete", "Delete orders", ("DELETE /api/orders/{id}",)),
    ),
    resources=(SeedResource("orders.delete", "Delete an order", "DELETE", "/api/orders/{id}"),),
    policies=HERE / "policies",
    migrations=HERE / "migrations",
    add_routes=add_routes,
)
