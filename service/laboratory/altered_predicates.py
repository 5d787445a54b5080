"""Predicates that open a little more or a little less than the model's: faults that cases must notice."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from service.authz.engine.predicates import PREDICATES
from service.kernel.codes import HeldCodes, segments_of

Opens = Callable[[tuple[str, ...], tuple[str, ...]], bool]
"""Tells whether a held code opens a required one, both as segments."""


def _itself_too(held: tuple[str, ...], required: tuple[str, ...]) -> bool:
    return len(held) > 1 and held[-1] == "*" and required == held[:-1]


def _by_letters(held: tuple[str, ...], required: tuple[str, ...]) -> bool:
    stem = ":".join(held[:-1])
    return held[-1] == "*" and "*" not in stem and stem != "" and ":".join(required).startswith(stem)


def _below(held: tuple[str, ...], required: tuple[str, ...]) -> bool:
    return "*" not in held and len(required) > len(held) and required[: len(held)] == held


def _above(held: tuple[str, ...], required: tuple[str, ...]) -> bool:
    return "*" not in held and len(required) < len(held) and held[: len(required)] == required


def _many(held: tuple[str, ...], required: tuple[str, ...]) -> bool:
    """True if a ``*`` before the last segment fits one segment or more."""
    if not held or not required:
        return not held and not required
    if held[0] == "*":
        return any(_many(held[1:], required[at:]) for at in range(1, len(required) + 1))
    return held[0] == required[0] and _many(held[1:], required[1:])


def _any_wildcard(held: tuple[str, ...], _required: tuple[str, ...]) -> bool:
    return "*" in held


def _other_place(held: tuple[str, ...], required: tuple[str, ...]) -> bool:
    return "*" in held[:-1] and held[-1] in required


WIDER: Final[Mapping[str, tuple[str, Opens]]] = {
    "opensItself": ("a * at the end may stand for no segment at all", _itself_too),
    "opensByLetters": ("a * at the end takes the letters before it, and not whole segments", _by_letters),
    "opensBelow": ("a code without * opens all codes below it", _below),
    "opensAbove": ("a code without * opens all codes above it", _above),
    "opensMany": ("a * before the last segment may stand for several segments", _many),
    "opensByAnyWildcard": ("every code with a * opens everything", _any_wildcard),
    "opensAtOtherPlace": ("the last segment of a code with a * may be anywhere", _other_place),
}
"""What wider predicates open beyond the model's, by name."""


def _one_segment(held: tuple[str, ...], required: tuple[str, ...]) -> bool:
    return len(held) == len(required)


def _not_the_first(held: tuple[str, ...], _required: tuple[str, ...]) -> bool:
    return len(held) > 2  # noqa: PLR2004 - system:* has two


def _not_at_the_end(held: tuple[str, ...], _required: tuple[str, ...]) -> bool:
    return held[-1] != "*"


def _at_the_end(held: tuple[str, ...], _required: tuple[str, ...]) -> bool:
    return held[-1] == "*"


def _once(held: tuple[str, ...], _required: tuple[str, ...]) -> bool:
    return held.count("*") == 1


NARROWER: Final[Mapping[str, tuple[str, str, Opens]]] = {
    "oneSegment": ("holdsSubtree", "only one segment below", _one_segment),
    "notTheFirst": ("holdsSubtree", "not below the first segment", _not_the_first),
    "notAtTheEnd": ("holdsPattern", "not with a * at the end too", _not_at_the_end),
    "atTheEnd": ("holdsPattern", "only with a * at the end too", _at_the_end),
    "once": ("holdsPattern", "only with one *", _once),
}
"""What narrower predicates demand beyond the model's: by name the row, the words, the condition."""


def _wider(opens: Opens) -> Callable[[object, str], bool]:
    def holds(caller: object, code: str) -> bool:
        required = segments_of(code)
        if not isinstance(caller, HeldCodes) or required is None:
            return False
        return any(opens(tuple(held.split(":")), required) for held in caller.codes)

    return holds


def _narrower(row: str, demands: Opens) -> Callable[[object, str], bool]:
    def holds(caller: object, code: str) -> bool:
        required = segments_of(code)
        if not isinstance(caller, HeldCodes) or required is None:
            return False
        return any(
            demands(tuple(held.split(":")), required) and PREDICATES[row](HeldCodes([held]), code)
            for held in caller.codes
        )

    return holds


FUNCTIONS: Final[dict[str, Callable[..., bool]]] = {
    **PREDICATES,
    **{name: _wider(opens) for name, (_, opens) in WIDER.items()},
    **{name: _narrower(row, demands) for name, (row, _, demands) in NARROWER.items()},
}
"""The functions that the matcher of a mutant may call."""
