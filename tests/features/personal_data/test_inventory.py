"""The inventory of personal data names every text of the schema, and the page is equal to it."""

from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY, INET, JSONB

from service.features.personal_data.inventory import inventory, table
from service.kernel.personal import Kept
from service.records.schema.all_tables import metadata

PAGE = Path(__file__).parents[3] / "docs/reference/personal-data.md"


def of_texts(column: sa.Column[object]) -> bool:
    kind = column.type.item_type if isinstance(column.type, ARRAY) else column.type
    return isinstance(kind, sa.Text | sa.String | JSONB | INET | sa.LargeBinary)


def faults_of(tables: tuple[sa.Table, ...]) -> list[str]:
    """Return the columns that the inventory lacks, and those that the schema lacks."""
    declared = {(kept.table, name) for kept in inventory() for name in kept.columns}
    stored = {(each.name, column.name) for each in tables for column in each.columns if of_texts(column)}
    return sorted(".".join(column) for column in declared ^ stored)


def test_every_text_of_the_schema_has_a_place_in_the_inventory() -> None:
    tables = tuple(metadata.sorted_tables)
    assert faults_of(tables) == []
    added = sa.Table("added", sa.MetaData(), sa.Column("remark", sa.Text), sa.Column("size", sa.Integer))
    assert faults_of((*tables, added)) == ["added.remark"]


def test_every_id_of_a_user_with_rows_of_its_own_is_an_owner() -> None:
    owners = {kept.table: kept.owner for kept in inventory()}
    for each in metadata.sorted_tables:
        if "user_id" in each.columns and each.name != "retired_bit":
            assert owners.get(each.name) == "user_id", each.name


def test_rows_end_with_the_account_where_the_schema_deletes_them() -> None:
    by_hand = {"user", "user_login", "permission_use"}
    deleted = {"user", "scim_user"}
    for each in metadata.sorted_tables:  # parents come first
        if any(key.ondelete == "CASCADE" and key.column.table.name in deleted for key in each.foreign_keys):
            deleted.add(each.name)
    assert {kept.table for kept in inventory() if kept.rows == "account"} == deleted | by_hand


def test_a_column_has_one_kind() -> None:
    with pytest.raises(ValueError, match="twice"):
        _ = Kept(table="added", kept="A day", own="remark", plain="remark").columns


def test_the_page_has_the_table_of_the_inventory() -> None:
    text = PAGE.read_text()
    shown = text.split("<!-- tables:start -->\n")[1].split("\n<!-- tables:end -->")[0]
    assert shown == table(), table()
