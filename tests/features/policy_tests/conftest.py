"""Commands on the database of a service: see ``tests.policy_publishing.conftest``."""

from tests.policy_publishing.conftest import command, command_on

__all__ = ["command", "command_on"]
