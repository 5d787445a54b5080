"""Statements about many ids: their list is one text, which PostgreSQL reads once."""

from sqlalchemy import create_engine, select

from service.records.database.filters import among
from service.records.schema.rights import user
from tests.support.inside import Inside
from tests.support.members import query


async def test_the_list_of_ids_is_read_once_and_not_for_each_row(shared: Inside) -> None:
    chosen = select(user.c.user_name).where(among(user.c.id, range(1, 20_000)))
    statement = chosen.compile(create_engine("postgresql+psycopg://"), compile_kwargs={"literal_binds": True})
    plan = await query(shared, f"EXPLAIN {statement}")
    assert any("ProjectSet" in line for (line,) in plan)
    assert [line for (line,) in plan if "Filter:" in line] == []
