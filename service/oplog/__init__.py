"""The logs of operations and logins: from the moment an entry is made until it stands in the database.

Owns that no request waits for its entry, that no entry is lost without being counted, and that none is
written twice. Must not know what an operation is, who may do what, or HTTP; what is secret has been taken out
of an entry before it comes here.
"""
