"""Requests for roles: who asks, who approves, and what is given."""
