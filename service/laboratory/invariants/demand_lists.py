"""Reads the exact lists of demands: ``invariants.yaml`` has one for each value of ``policy.assurance``."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, TypeAlias, get_args

from service.authz.engine.rules import ANYONE, ASSURANCE, code_fault, object_fault
from service.kernel.core_sentences import sentence
from service.laboratory.invariants.statements import ExactDemands
from service.settings.sections.policy import Demands

DemandList: TypeAlias = dict[str, str | list[str]]
"""By words, any one of which is enough, the objects with just these; ``others`` are those of all others."""

_OTHERS: Final = "others"
_LEVELS: Final = get_args(Demands)


def demand_faults(
    level: str, demands: Mapping[str, str | list[str]]
) -> Iterator[tuple[Sequence[str | int], str]]:
    """Yield each fault with its place in the list of ``level``."""
    if level not in _LEVELS:
        yield (), f"the value of policy.assurance must be one of {', '.join(_LEVELS)}, not {level!r}"
    if not isinstance(demands.get(_OTHERS), str):
        yield (), f"'{_OTHERS}' must have the words for all objects that are not listed"
    seen: set[str] = set()
    for key, listed in demands.items():
        is_list = not isinstance(listed, str)
        if is_list is (key == _OTHERS):
            yield (key,), f"words must have a list of objects, and '{_OTHERS}' must have words"
        yield from (((key,), fault) for fault in _word_faults(key if is_list else str(listed)))
        for at, name in enumerate(listed if is_list else ()):
            if fault := object_fault(ASSURANCE, name):
                yield (key, at), fault
            if name in seen:
                yield (key, at), f"{name} is listed twice"
            seen.add(name)


def _word_faults(words: str) -> Iterator[str]:
    for word in words.split(" "):
        if fault := code_fault(ASSURANCE, "", word):
            yield fault


def exact_demands(
    level: str, demands: Mapping[str, str | list[str]], open_to_all: Sequence[str], place: str
) -> ExactDemands:
    """Return the statement of a list without faults; ``open_to_all`` are the objects that demand nothing."""
    groups = tuple(
        (tuple(words.split(" ")), tuple(names))
        for words, names in demands.items()
        if not isinstance(names, str)
    )
    return ExactDemands(
        name=f"{ASSURANCE} {level}",
        reason=sentence("reason_demands_listed"),
        place=place,
        level=level,
        others=tuple(str(demands[_OTHERS]).split(" ")),
        groups=(((ANYONE,), tuple(open_to_all)), *groups),
    )
