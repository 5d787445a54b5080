"""The database: its schema, and every statement that the service sends to it.

Owns all SQL. ``schema`` describes the tables and ``migrations`` build them. ``installation`` migrates and
seeds. ``published`` stores the results of publishing. The modules of the nouns read and write their tables.
Functions take a connection first and leave the transaction to the caller; ``database`` opens transactions and
limits their time.

Knows nothing of HTTP, the session store, tokens or Casbin. No other package may write SQL.
"""

from service.records.database.engine_alone import import_engine_alone

import_engine_alone()  # before any module of this package imports sqlalchemy.ext.asyncio
