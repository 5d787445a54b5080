"""The database: its schema, and every statement that the service sends to it; no other package has SQL.

Functions take a connection first and leave the transaction to the caller; ``database`` opens transactions.
"""

from service.records.engine_alone import import_engine_alone

import_engine_alone()  # before any module of this package imports sqlalchemy.ext.asyncio
