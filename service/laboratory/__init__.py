"""Tries on the policy, for commands and ``policy_testing``; nothing that serves imports it."""
