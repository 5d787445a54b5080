"""Shared lines that features contribute to the policy, by the port ``shared-lines``.

They follow from rows of a feature. Whether it is on does not matter: nodes that have different features off
publish the same policy.
"""

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from service.kernel.feature import provided


@dataclass(frozen=True, slots=True)
class Contribution:
    """The shared lines of ``layer`` that follow from the stored data of a feature.

    ``read`` takes a connection and returns the data as texts, in the transaction of the publisher; it takes
    no locks. ``lines`` returns the codes of each object that follows from these texts. ``source`` returns the
    text that an object follows from, None for an object of the node's own files. Decision tables name the
    texts by ``word``.
    """

    layer: str
    word: str
    read: Callable[[Any], Awaitable[Collection[str]]]
    lines: Callable[[Iterable[str]], Mapping[str, tuple[str, ...]]]
    source: Callable[[str], str | None]


@cache
def contributions() -> tuple[Contribution, ...]:
    """Return the contributions of all features, in the order of the registry."""
    return tuple(provided("shared-lines").values())


@cache
def contributed_layers() -> frozenset[str]:
    """Return the layers whose shared lines follow from rows of features."""
    return frozenset(each.layer for each in contributions())


async def read_all(connection: Any) -> dict[str, Collection[str]]:
    """Return the sources of the contributions, by word."""
    return {each.word: await each.read(connection) for each in contributions()}
