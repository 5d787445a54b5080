"""The orders in the database, in the schema of the extension."""

from __future__ import annotations

from typing import Any

from sqlalchemy import text

from service.extending import Conflict, Database, NotFound, Sentences

sentence = Sentences({"orders_number_taken": "There is an order {number} already"})

COUNT = text("SELECT count(*) FROM orders.purchase")
PAGE = text("SELECT * FROM orders.purchase ORDER BY id DESC LIMIT :size OFFSET :skipped")
ONE = text("SELECT * FROM orders.purchase WHERE id = :id")
ENTER = text(
    "INSERT INTO orders.purchase (number, customer) VALUES (:number, :customer)"
    " ON CONFLICT (number) DO NOTHING RETURNING *"
)
DELETE = text("DELETE FROM orders.purchase WHERE id = :id RETURNING id")


class OrderBook:
    """Reads and writes orders. Each call is one transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def page(self, number: int, size: int) -> tuple[list[Any], int]:
        """Return a page of the orders, the newest first, and how many there are."""
        async with self._database.snapshot() as connection:
            total = (await connection.execute(COUNT)).scalar_one()
            rows = await connection.execute(PAGE, {"size": size, "skipped": (number - 1) * size})
            return list(rows), total

    async def read(self, order_id: int) -> Any:
        """Return an order; raises NotFound."""
        async with self._database.snapshot() as connection:
            return found_in((await connection.execute(ONE, {"id": order_id})).first())

    async def enter(self, number: str, customer: str) -> Any:
        """Write an order and return it; raises Conflict if the number is taken."""
        async with self._database.transaction() as connection:
            written = await connection.execute(ENTER, {"number": number, "customer": customer})
            if (row := written.first()) is None:
                raise Conflict(sentence("orders_number_taken", number=number))
            return row

    async def delete(self, order_id: int) -> None:
        """Delete an order; raises NotFound."""
        async with self._database.transaction() as connection:
            found_in((await connection.execute(DELETE, {"id": order_id})).first())


def found_in(row: Any) -> Any:
    if row is None:
        raise NotFound
    return row
