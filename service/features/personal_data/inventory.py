"""The inventory: personal data in the tables of the core and of its features, and outside of the database."""

from collections.abc import Iterable
from typing import Final

from service.features.personal_data.tables import TABLES
from service.kernel.feature import provided
from service.kernel.personal import Kept, Rows


def inventory() -> tuple[Kept, ...]:
    """Return the declarations of all tables, by name; those of features that are off count.

    ValueError for a table that is declared twice.
    """
    declared: Iterable[Iterable[Kept]] = provided("personal-data").values()
    tables = [*TABLES, *(kept for each in declared for kept in each)]
    by_name = {kept.table: kept for kept in tables}
    if len(by_name) != len(tables):
        raise ValueError("a table is declared twice")
    return tuple(by_name[name] for name in sorted(by_name))


DELETED: Final[dict[str, str]] = {
    "agent_approval": "concat_ws(' ', path, query, body) ~* :pattern",
    "idempotency_key": "answer LIKE ANY (CAST(:holding AS bytea[]))",
    "mail": "user_id IS NULL AND lower(recipient) = ANY (:folded)",
    "reset_request": "user_name_key = ANY (:folded)",
}
"""Tables whose rows expire soon, with the SQL of those of others that an erasure deletes."""
_ROWS: Final[dict[Rows, str]] = {
    "account": "Rows are deleted.",
    "stay": "Rows stay, with the number of the user.",
}
_NO_OWNER: Final = "Rows stay."
_COLUMNS: Final = {
    "names": "Columns that keep the name: {}.",
    "texts": "Columns that can have the name: {}.",
    "chained": "Columns that stay until then, as commitments in the chain: {}.",
    "sealed": "Columns that stay, under a seal: {}.",
}


def effect(kept: Kept) -> str:
    """Return the effect of deleting an account on a table, in Markdown."""
    parts = [_ROWS[kept.rows] if kept.owner or kept.rows == "account" else _NO_OWNER]
    for kind, sentence in _COLUMNS.items():
        if names := getattr(kept, kind).split():
            parts.append(sentence.format(", ".join(f"`{name}`" for name in names)))
    return " ".join(parts)


def erased(kept: Kept) -> str:
    """Return the effect of an erasure on a table, besides the deletion of the account, in Markdown."""
    parts = []
    if kept.table in DELETED:
        parts.append("Rows with a value are deleted.")
    elif columns := [*kept.names.split(), *kept.texts.split()]:
        parts.append(f"The number replaces values in {', '.join(f'`{name}`' for name in columns)}.")
    if columns := kept.sealed.split():
        parts.append(f"{', '.join(f'`{name}`' for name in columns)}: values stay.")
    if kept.chained:
        parts.append("Values are deleted with their salts.")
    return " ".join(parts) or "The same."


def table() -> str:
    """Return the table of the reference page: each table with personal data, retention and end."""
    lines = [
        "| Table | Kept | When the account is deleted | After an erasure |",
        "| --- | --- | --- | --- |",
    ]
    lines += [
        f"| `{kept.table}` | {kept.kept} | {effect(kept)} | {erased(kept)} |"
        for kept in inventory()
        if kept.is_personal
    ]
    return "\n".join(lines)
