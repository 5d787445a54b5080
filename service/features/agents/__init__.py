"""Agents: service accounts that act for people, within delegations."""
