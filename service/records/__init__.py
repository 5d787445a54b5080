"""What is stored: the database, its schema, and every statement that the service sends to it.

Owns all SQL: ``schema`` describes the tables, ``migrations`` build them, ``seed`` fills them once, and one
module per table reads and writes it. Functions take a connection first and leave the transaction to the
caller; ``database`` opens transactions and bounds them in time.

Must not know HTTP, the session store, tokens or Casbin. Nothing outside this package may write SQL.
"""
