"""The endpoints of the extension. Decorators declare who may call them, and what the operation log keeps."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from orders_admin.orders import OrderBook
from service.extending import (
    Conflict,
    Id,
    Moment,
    NotFound,
    Page,
    PageQuery,
    RequestContext,
    Schema,
    needs,
    writes,
)

Number = Annotated[str, Meta(pattern=r"^[A-Z0-9-]{1,32}$", examples=["2026-0017"])]
Customer = Annotated[str, Meta(min_length=1, max_length=100, examples=["Ada"])]


class Order(Schema):
    """An order of a customer."""

    id: Id
    number: Number
    customer: Customer
    create_time: Moment


class NewOrder(Schema):
    """An order to enter."""

    number: Number
    customer: Customer


class Orders:
    """``/api/orders``."""

    def __init__(self, book: OrderBook) -> None:
        self._book = book

    @needs("orders:order:read", name="listOrders")
    async def on_get(self, context: RequestContext, query: PageQuery) -> Page[Order]:
        """List orders, the newest first."""
        rows, total = await self._book.page(query.page, query.size)
        return Page([Order.of(row) for row in rows], query.page, query.size, total)

    @needs("orders:order:create", name="createOrder", refuses=[Conflict])
    @writes(
        "enter an order",
        "INSERT",
        example={"number": "2026-0017", "customer": "Ada"},
        created="/api/orders/{id}",
        refuses_keys="its number names an order already, and is taken once",
    )
    async def on_post(self, context: RequestContext, body: NewOrder) -> Order:
        """Enter an order."""
        return Order.of(await self._book.enter(body.number, body.customer))


class OneOrder:
    """``/api/orders/{id}``."""

    def __init__(self, book: OrderBook) -> None:
        self._book = book

    @needs("orders:order:read", name="getOrder", refuses=[NotFound])
    async def on_get(self, context: RequestContext, id: int) -> Order:
        """Read an order."""
        return Order.of(await self._book.read(id))

    @needs("orders:order:delete", name="deleteOrder", refuses=[NotFound])
    @writes("delete an order", "DELETE")
    async def on_delete(self, context: RequestContext, id: int) -> None:
        """Delete an order."""
        await self._book.delete(id)
