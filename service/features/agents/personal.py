"""Personal data in the tables of agents."""

from typing import Final

from service.kernel.personal import Kept

KEPT: Final = (
    Kept(
        table="agent",
        owner="user_id",
        rows="account",
        kept="As long as the account of the agent",
    ),
    Kept(
        table="agent_approval",
        rows="account",
        kept="As long as the delegation",
        texts="body query path",
        secrets="digest",
        plain="method state",
    ),
    Kept(
        table="delegation",
        owner="user_id",
        rows="account",
        kept="Until its end",
        plain="codes ask_me services",
    ),
)
