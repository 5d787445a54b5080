"""Requests for roles: authors, approvers and grants."""
