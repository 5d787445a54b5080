"""One spelling of internationalised domains: in addresses, and in the keys of user names."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from service.kernel.domains import plain_address
from service.kernel.text import name_key

revision = "v0065"
down_revision = "v0064"
kind = "expand"
least_version = "0.2.0"

# Few rows have such a domain, and Python alone decodes them.
LOCK = 'LOCK TABLE sys."user", sys.account_token, sys.address_undo IN ROW EXCLUSIVE MODE'
ADDRESSES = {
    'sys."user"': ("email", "recovery_email", "agreed_email", "reached_email"),
    "sys.account_token": ("email",),
    "sys.address_undo": ("email",),
}


def upgrade() -> None:
    """Take the step."""
    op.execute(LOCK)
    if op.get_context().as_sql:
        return
    connection = op.get_bind()
    for table, columns in ADDRESSES.items():
        for column in columns:
            encoded = f"SELECT DISTINCT {column} FROM {table} WHERE {column} ~* '[@.]xn--'"  # noqa: S608
            changed = f"UPDATE {table} SET {column} = :plain WHERE {column} = :encoded"  # noqa: S608
            for (address,) in connection.execute(sa.text(encoded)).all():
                connection.execute(sa.text(changed), {"plain": plain_address(address), "encoded": address})
    named = sa.text("""SELECT id, user_name FROM sys."user" WHERE user_name_key ~ '@.*xn--'""")
    # Of two accounts with one name in two spellings, the second keeps its key, by which nobody finds it.
    keyed = sa.text(
        'UPDATE sys."user" SET user_name_key = :key WHERE id = :id'
        ' AND NOT EXISTS (SELECT FROM sys."user" WHERE user_name_key = :key)'
    )
    for user_id, user_name in connection.execute(named).all():
        connection.execute(keyed, {"key": name_key(user_name), "id": user_id})
