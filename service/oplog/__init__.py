"""The logs of operations and logins: from the creation of an entry until it is in the database.

Guarantees that no request waits for its entry, that no entry is lost without being counted, and that none is
written twice. Must not know what an operation is, permissions, or HTTP; secrets are removed from an entry
before it is passed in.
"""
