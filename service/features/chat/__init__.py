"""Notices about requests for roles, posted to channels of a chat."""
