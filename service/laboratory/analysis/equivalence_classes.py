"""Find the classes of requests, of many, that a user with given roles passes."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import compress
from operator import or_
from typing import Final, TypeAlias, TypeVar

from service.laboratory.analysis.opening_codes import OpeningCodes
from service.laboratory.proof.batch_decider import DecidingLines

Classes: TypeAlias = int
"""A set of classes: bit ``n`` stands for the class ``n``."""

T = TypeVar("T")

_BITS: Final = bytes.maketrans(b"0", b"\0")


class EquivalenceClasses:
    """Finds the classes that a user with given roles passes.

    A user passes a class when one line of each layer opens. ``OpeningCodes`` finds the held codes by which a
    line opens: single codes, except for models that the lint refuses. So the classes that a layer opens to a
    user are those that it opens to the user's roles. The classes that it opens to each role are kept as one
    set, and these few sets decide about all classes at once.
    """

    def __init__(
        self,
        opening: OpeningCodes,
        given: Mapping[str, Collection[str]],
        classes: Sequence[DecidingLines],
    ) -> None:
        """Take the codes that each role grants; for each class, the codes of the lines of both layers.

        ``opening`` covers all codes that roles grant.
        """
        self._resource, self._endpoint = (
            _Layer(opening, given, [layers[place] for layers in classes]) for place in (0, 1)
        )

    def of(self, roles: Collection[str]) -> Classes:
        """Return the classes that a logged-in user with ``roles`` passes."""
        return self._resource.opened(roles) & self._endpoint.opened(roles)

    def by_layer(self, roles: Collection[str]) -> tuple[Classes, Classes]:
        """Return the classes that ``roles`` pass in the resource layer, and in the endpoint layer."""
        return self._resource.opened(roles), self._endpoint.opened(roles)


class _Layer:
    """The classes that one layer opens."""

    def __init__(
        self, opening: OpeningCodes, given: Mapping[str, Collection[str]], classes: Iterable[Iterable[str]]
    ) -> None:
        """``classes`` are the codes of the lines of this layer, for each class."""
        by_code: dict[str, Classes] = {}
        for number, codes in enumerate(classes):
            for code in codes:
                by_code[code] = by_code.get(code, 0) | 1 << number
        by_held: dict[str, Classes] = {}
        for code, opened in by_code.items():
            for held in opening.alone(code):
                by_held[held] = by_held.get(held, 0) | opened
        self._given = given
        self._to_all = reduce(or_, (opened for code, opened in by_code.items() if opening.to_all(code)), 0)
        self._together = [
            (held, opened) for code, opened in by_code.items() for held in opening.together(code)
        ]
        self._by_role = {
            role: reduce(or_, (by_held.get(code, 0) for code in codes), 0) for role, codes in given.items()
        }

    def opened(self, roles: Collection[str]) -> Classes:
        """Return the classes that open to a logged-in user with ``roles``."""
        opened = self._to_all
        for role in roles:
            opened |= self._by_role.get(role, 0)
        if self._together:
            held = {code for role in roles for code in self._given.get(role, ())}
            opened = reduce(or_, (classes for needed, classes in self._together if needed <= held), opened)
        return opened


def credited(
    passing: EquivalenceClasses, roles: Sequence[str], classes: Classes
) -> Iterator[tuple[str | None, Classes]]:
    """Yield the roles by which a user with ``roles`` passes ``classes``, and the classes of each role.

    Roles that are enough by themselves are credited. If several are needed together, those without which it
    fails are credited, or all. None stands for no role at all.
    """
    if not roles:
        yield None, classes
        return
    left = classes
    for role in roles:
        if enough := passing.of([role]) & classes:
            yield role, enough
            left &= ~enough
    if not left:
        return
    needed = {role: left & ~passing.of([other for other in roles if other != role]) for role in roles}
    no_single = left & ~reduce(or_, needed.values())
    for role, without in needed.items():
        if credit := without | no_single:
            yield role, credit


class Tally:
    """Counts users for each of many classes, whole sets of classes at once."""

    def __init__(self) -> None:
        self._counted: Classes = 0
        self._powers: list[Classes] = []  # at the place n the classes in whose number is the power 2**n

    def add(self, classes: Classes, users: int) -> None:
        """Count ``users`` for each of ``classes``; with 0 these have a number, too."""
        self._counted |= classes
        for power in range(users.bit_length()):
            if users >> power & 1:
                self._add(classes, power)

    def _add(self, classes: Classes, power: int) -> None:
        while classes:
            while power >= len(self._powers):
                self._powers.append(0)
            carried = self._powers[power] & classes
            self._powers[power] ^= classes
            classes, power = carried, power + 1

    def numbers(self) -> dict[int, Classes]:
        """Return the classes that were counted, by the number of users."""
        numbers = {0: self._counted} if self._counted else {}
        for power, having in enumerate(self._powers):
            parts = [
                (number + (bit << power), part)
                for number, classes in numbers.items()
                for bit, part in ((0, classes & ~having), (1, classes & having))
            ]
            numbers = {number: part for number, part in parts if part}
        return numbers


def bits_of(classes: Classes, number: int = 0) -> bytes:
    """Return a byte for each class, at least ``number`` of them: 0 for a class that is not in the set."""
    return bin(classes)[:1:-1].encode().translate(_BITS).ljust(number, b"\0")


def of_classes(members: Iterable[T], classes: Classes) -> Iterator[T]:
    """Return those of ``members``, one for each class, whose classes are in a set."""
    return compress(members, bits_of(classes))
