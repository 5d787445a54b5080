"""The audit trail: the operation log, the login log and the decision log, their chain and their export.

From the creation of an entry until it is in the database, and from there to other systems. Guarantees that no
request waits for its entry, that no entry is lost without being counted, and that none is written twice. Must
not know what an operation is, permissions, or HTTP; secrets are removed from an entry before it is passed in.
"""
