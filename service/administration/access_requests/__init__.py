"""Requests for roles: their rules, who asks, who approves, and what is given."""
