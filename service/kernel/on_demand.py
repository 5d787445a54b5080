"""Sequences whose members are made when they are read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar, overload

S = TypeVar("S")
T_co = TypeVar("T_co", covariant=True)


class OnDemand(Sequence[T_co], Generic[S, T_co]):
    """Members for which less is kept than they are: each is made anew when it is read."""

    def __init__(self, kept: Sequence[S], make: Callable[[S], T_co]) -> None:
        """``make`` makes a member of what is kept for it."""
        self._kept, self._make = kept, make

    def __len__(self) -> int:
        return len(self._kept)

    @overload
    def __getitem__(self, index: int) -> T_co: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[T_co]: ...
    def __getitem__(self, index: int | slice) -> T_co | Sequence[T_co]:
        if isinstance(index, slice):
            return [self._make(kept) for kept in self._kept[index]]
        return self._make(self._kept[index])
