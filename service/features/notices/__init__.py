"""Notices and mails to users: their texts, the outbox of waiting mails, and the sending."""
