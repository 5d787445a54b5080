"""Takeovers: users who could act as the owner of an account, and confirmations of the owner."""
