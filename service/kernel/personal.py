"""Declarations of personal data: for each table, the meaning of its columns for people and their copies.

Features declare tables by the port ``personal-data``: a sequence of ``Kept``. A test compares all
declarations with the schema, so a new column of texts needs a place in one of them.
"""

from dataclasses import dataclass, fields
from typing import Literal

Rows = Literal["account", "stay"]
"""The end of a person's rows: deleted with the account, or kept."""

_TREATED = ("own", "names", "texts", "sealed", "chained", "secrets", "plain")


@dataclass(frozen=True, kw_only=True)
class Kept:
    """The personal data of a table; columns are named with spaces between.

    ``owner`` is the column with the id of the person that a row is about, empty without one. ``kept`` is the
    retention, as a phrase. Each column of texts has a kind:

    - ``own``: data of the owner
    - ``names``: the name of a user
    - ``texts``: free text or JSON that can name people
    - ``sealed``: data of people that a seal covers, so that it never changes
    - ``chained``: data of people in a log entry, which the chain covers by commitments
    - ``secrets``: never copied
    - ``plain``: no personal data

    ``withheld`` are columns about other people that a person's copy leaves out, besides ``secrets`` and the
    ``names`` of other users.
    """

    table: str
    kept: str
    rows: Rows = "stay"
    owner: str = ""
    own: str = ""
    names: str = ""
    texts: str = ""
    sealed: str = ""
    chained: str = ""
    secrets: str = ""
    plain: str = ""
    withheld: str = ""

    @property
    def columns(self) -> dict[str, str]:
        """Return the kind of each declared column; ValueError for a column of two kinds."""
        treated = [(name, kind) for kind in _TREATED for name in getattr(self, kind).split()]
        if len(treated) != len(dict(treated)):
            raise ValueError(f"{self.table} declares a column twice")
        return dict(treated)

    @property
    def is_personal(self) -> bool:
        """True if the table has data of people."""
        return bool(self.owner) or any(kind != "plain" for kind in self.columns.values())


assert {*_TREATED} <= {field.name for field in fields(Kept)}  # noqa: S101 - of this file alone
