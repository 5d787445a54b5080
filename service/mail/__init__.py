"""Mail to users: their words, the outbox that keeps them until they are sent, and the sending.

A mail is a row, written in the transaction of what it tells, so that neither is there without the other.
Links in it are kept encrypted, until the mail has ended. Knows nothing of HTTP, tokens or authorization.
"""
