"""Notices and mails to users: their words, the outbox that keeps mails until they go, and the sending."""
