"""Notices about requests for roles, reviews and sign-offs, posted to channels of a chat."""
