"""Challenges that wait for an answer: what was asked of whom, how often it was answered, and that it ends."""

from __future__ import annotations

from typing import Final

from service.keyspace import keys
from service.keyspace.client import PipelinedClient
from service.keyspace.scripts import Scripts

MOST_ANSWERS: Final = 5
"""How often a challenge may be answered."""


class Challenges:
    """Keeps challenges by their names, which callers must have made hard to guess.

    All raise ``Unavailable``.
    """

    def __init__(self, client: PipelinedClient, scripts: Scripts) -> None:
        self._client = client
        self._scripts = scripts

    async def keep(self, name: str, facts: bytes, life: int) -> None:
        """Keep a challenge for ``life`` seconds."""
        await self._scripts.run("challenge_set", keys.challenge(name), facts, 1000 * life)

    async def answered(self, name: str) -> bytes | None:
        """Count an answer, and return the facts of the challenge; None for one that is unknown or has ended.

        It ends when it is answered more than ``MOST_ANSWERS`` times, at once or one after the other.
        """
        facts: bytes | None = await self._scripts.run("challenge_try", keys.challenge(name), MOST_ANSWERS)
        return facts

    async def spend(self, name: str) -> bool:
        """End a challenge after a right answer; False if it has ended: then another answer was first."""
        return bool(await self._client.delete(keys.challenge(name)))
