"""Which of many classes of requests somebody passes, for many sets of held codes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cache, reduce
from operator import or_
from typing import TypeAlias

from service.authz.proof.line_answers import kinds_of, line_answers
from service.kernel.codes import HeldCodes

Classes: TypeAlias = int
"""A set of classes: bit ``n`` stands for the class ``n``."""


class EquivalenceClasses:
    """Tells which classes holders of codes pass.

    Somebody passes a class when one line of each layer opens. The classes of each code are kept as one set,
    so that the few codes that somebody holds decide about all classes at once. ``LineAnswers`` tells whether
    the line of a code opens. It is asked for the codes that are held in some way: the lint lets no code open
    to somebody who does not hold it.
    """

    def __init__(self, model_text: str, classes: Iterable[tuple[Iterable[str], Iterable[str]]]) -> None:
        """Take a linted model and, for each class, the codes of the lines that decide in both layers."""
        self._answers = line_answers(model_text)
        self._resource: dict[str, Classes] = {}
        self._endpoint: dict[str, Classes] = {}
        for number, layers in enumerate(classes):
            for by_code, codes in zip((self._resource, self._endpoint), layers, strict=True):
                for code in codes:
                    by_code[code] = by_code.get(code, 0) | 1 << number
        codes = self._resource.keys() | self._endpoint.keys()
        self._words = {code for code in codes if code.startswith("@")}
        self._codes = codes - self._words
        self._passed: dict[HeldCodes, Classes] = {}
        self._held_by_wildcards = cache(self._by_wildcards)

    def of(self, held: HeldCodes) -> Classes:
        """Return the classes that somebody passes who is logged in and holds ``held``."""
        if (passed := self._passed.get(held)) is None:
            resource = endpoint = 0
            for code in self._opened(held):
                resource |= self._resource.get(code, 0)
                endpoint |= self._endpoint.get(code, 0)
            passed = self._passed[held] = resource & endpoint
        return passed

    def _opened(self, held: HeldCodes) -> Iterator[str]:
        wildcards = frozenset(code for code in held.codes if "*" in code)
        asked = {*self._words, *(held.codes & self._codes), *self._held_by_wildcards(wildcards)}
        return (code for code in asked if self._answers.opens(code, held))

    def _by_wildcards(self, wildcards: frozenset[str]) -> Collection[str]:
        held = HeldCodes(wildcards)
        return [code for code in self._codes if kinds_of(code, held)] if wildcards else ()


def credited(
    passing: EquivalenceClasses,
    roles: Sequence[str],
    held: Callable[[Iterable[str]], HeldCodes],
    classes: Classes,
) -> Iterator[tuple[str | None, Classes]]:
    """Yield the roles by which somebody who has ``roles`` passes ``classes``, and which of these by each.

    ``held`` tells what roles give together. Credited are those roles that are enough by themselves; where it
    takes several together, those without which it fails, or all. None stands for no role at all.
    """
    if not roles:
        yield None, classes
        return
    left = classes
    for role in roles:
        if enough := passing.of(held([role])) & classes:
            yield role, enough
            left &= ~enough
    if not left:
        return
    needed = {role: left & ~passing.of(held([other for other in roles if other != role])) for role in roles}
    no_single = left & ~reduce(or_, needed.values())
    for role, without in needed.items():
        if credit := without | no_single:
            yield role, credit


def numbers_of(classes: Classes) -> Iterator[int]:
    """Yield the numbers of the classes of a set."""
    while classes:
        lowest = classes & -classes
        yield lowest.bit_length() - 1
        classes ^= lowest
