"""Objects with connections, which are closed at the end of an ``async with`` block."""

from abc import ABC, abstractmethod
from typing import Self


class Closable(ABC):
    """Is closed when the block ends, also by an exception."""

    __slots__ = ()

    @abstractmethod
    async def close(self) -> None:
        """Close all connections."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
