"""Tries on the policy: decision tables, altered models and lines, witnesses, proofs, decisions made again.

Used by commands and by ``service.policy_testing``; nothing that serves requests imports it.
"""
