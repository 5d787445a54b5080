"""Mutants of a policy: small faults in its lines and matcher that decision tables must detect."""

import ast
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from service.authz.engine.predicates import PREDICATES
from service.authz.engine.rules import (
    ANYONE,
    ASSURANCE,
    ENDPOINT,
    GRANT,
    LAYERS,
    LOGIN,
    NOBODY,
    OBJECTS,
    PERMISSION,
    RESOURCE,
    UNREGISTERED,
    Rule,
)
from service.kernel.assurance import WORDS
from service.kernel.codes import HeldCodes, segments_of
from service.laboratory.matcher_rows import Matcher, conjuncts, joined, name_of, shown

Opens = Callable[[tuple[str, ...], tuple[str, ...]], bool]
"""Returns whether a held code opens a required one, both as segments."""


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
"""By name, the additional codes that wider predicates open: a description and the condition."""


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
"""By name, the additional demands of narrower predicates: the row, a description and the condition."""


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


LINE_DELETED: Final = "a line deleted"
LINE_ADDED: Final = "a line added"
ROW_DROPPED: Final = "a row of the matcher dropped"
ROW_NARROWED: Final = "a row of the matcher narrowed"
ROW_WIDENED: Final = "a row of the matcher widened or added"
EQUALITY_DROPPED: Final = "an equality dropped"


@dataclass(frozen=True, slots=True)
class Mutant:
    """A policy with one fault.

    ``text`` describes the difference. Either ``added`` or ``deleted`` is a line, or ``expression`` is the
    matcher that replaces the model's. Answers can differ only for questions to ``layer``, about ``object``,
    and about an object with a line of ``code``; None stands for any. ``unkeyed`` names a dropped equality:
    without that of layers, lines about the object in other layers may match; without that of objects, lines
    about other objects in the layer.
    """

    kind: str
    text: str
    expression: str | None = None
    added: Rule | None = None
    deleted: Rule | None = None
    layer: str | None = None
    object: str | None = None
    code: str | None = None
    unkeyed: Literal["layer", "object"] | None = None


def line_mutants(own: Collection[Rule], registered: Iterable[Rule]) -> Iterator[Mutant]:
    """Yield ``own`` with each line deleted, and with each other code and word added to each object.

    In layers with a closed list of objects, each object without a line is opened too. ``registered`` has
    further lines to add: each opens a registered object, such as a bound resource, to every login.
    """
    codes = [*codes_of(own), ANYONE, LOGIN, NOBODY]
    alternatives = {ASSURANCE: WORDS}
    for rule in own:
        yield Mutant(LINE_DELETED, f"without '{rule}'", deleted=rule, layer=rule.layer, object=rule.object)
    objects = list(dict.fromkeys((rule.layer, rule.object) for rule in own))
    new = [Rule(layer, name, code) for layer, name in objects for code in alternatives.get(layer, codes)]
    lined = set(objects)
    listed = [(layer, name) for layer, names in OBJECTS.items() for name in sorted(names)]
    new += [Rule(*target, code) for target in listed if target not in lined for code in (ANYONE, LOGIN)]
    new += registered
    present = set(own)
    for rule in new:
        if rule not in present:
            yield Mutant(LINE_ADDED, f"with '{rule}'", added=rule, layer=rule.layer, object=rule.object)


def codes_of(rules: Iterable[Rule]) -> list[str]:
    """Return the permission codes of ``rules``, each once, in order."""
    return list(dict.fromkeys(rule.code for rule in rules if not rule.code.startswith("@")))


def matcher_mutants(matcher: Matcher, own: Collection[Rule]) -> Iterator[Mutant]:
    """Yield faults of ``matcher``: in all layers, and in each layer alone.

    ``own`` are the lines of the node, the source of faults for a single code or object.
    """
    codes = codes_of(own)
    yield from _equalities(matcher)
    for row in matcher.rows:
        yield from dropped_rows(matcher, row)
        yield from _excepted(matcher, row, codes)
        yield from _weakened(matcher, row)
    yield from _narrowed(matcher)
    yield from _added_rows(matcher, own, codes)


def dropped_rows(matcher: Matcher, row: str) -> Iterator[Mutant]:
    """Yield ``matcher`` without ``row``: in all layers, in each one, and in all but one."""
    name = name_of(row)
    yield _replaced(matcher, row, (), ROW_DROPPED, f"without the row {name}")
    for layer in LAYERS:
        external = (f"({row}) and r_layer != {layer!r}",)
        text = f"without the row {name} in the layer {layer}"
        yield _replaced(matcher, row, external, ROW_DROPPED, text, layer=layer)
    for layer in LAYERS:
        only = (f"({row}) and r_layer == {layer!r}",)
        yield _replaced(matcher, row, only, ROW_NARROWED, f"with the row {name} in the layer {layer} only")


def _replaced(
    matcher: Matcher,
    row: str,
    new: tuple[str, ...],
    kind: str,
    text: str,
    *,
    layer: str | None = None,
    code: str | None = None,
) -> Mutant:
    at = matcher.rows.index(row)
    rows = (*matcher.rows[:at], *new, *matcher.rows[at + 1 :])
    whole = joined(matcher.layers, matcher.objects, rows)
    return Mutant(kind, text, whole, layer=layer, code=code)


def _equalities(matcher: Matcher) -> Iterator[Mutant]:
    def made(
        name: Literal["layer", "object"], text: str, layers: str, objects: str, layer: str | None = None
    ) -> Mutant:
        whole = joined(layers, objects, matcher.rows)
        return Mutant(EQUALITY_DROPPED, text, whole, layer=layer, unkeyed=name)

    equalities: tuple[tuple[Literal["layer", "object"], str], ...] = (
        ("layer", matcher.layers),
        ("object", matcher.objects),
    )
    for name, equality in equalities:
        for layer in (None, *LAYERS):
            loose = "True" if layer is None else f"({equality} or r_layer == {layer!r})"
            where = "" if layer is None else f" in the layer {layer}"
            layers, objects = (loose, matcher.objects) if name == "layer" else (matcher.layers, loose)
            yield made(name, f"without '{shown(equality)}'{where}", layers, objects, layer)


def _excepted(matcher: Matcher, row: str, codes: Iterable[str]) -> Iterator[Mutant]:
    """Yield ``row`` with an exception for one code; rows of words have no codes."""
    if "holds" not in row:
        return
    name = name_of(row)
    for code in codes:
        text = f"with the row {name} for all codes but {code}"
        new = f"({row}) and p_code != {code!r}"
        yield _replaced(matcher, row, (new,), ROW_NARROWED, text, code=code)
        for layer in LAYERS:
            new = f"({row}) and (p_code != {code!r} or r_layer != {layer!r})"
            where = f"{text} in the layer {layer}"
            yield _replaced(matcher, row, (new,), ROW_NARROWED, where, layer=layer, code=code)


def _weakened(matcher: Matcher, row: str) -> Iterator[Mutant]:
    """Yield ``row`` without one of its conditions, in each layer."""
    demands = conjuncts(row)
    if len(demands) == 1 and not isinstance(ast.parse(row, mode="eval").body, ast.Compare):
        return
    for demand in demands:
        rest = " and ".join(other for other in demands if other != demand) or "True"
        for layer in LAYERS:
            text = f"with the row {name_of(row)} without '{shown(demand)}' in the layer {layer}"
            new = f"({rest}) and r_layer == {layer!r}"
            yield _replaced(matcher, row, (row, new), ROW_WIDENED, text, layer=layer)


def _narrowed(matcher: Matcher) -> Iterator[Mutant]:
    for function, (name, words, _) in NARROWER.items():
        for row in matcher.rows:
            if name_of(row) != name:
                continue
            for layer in LAYERS:
                new = f"({row}) and (r_layer != {layer!r} or {function}(r_caller, p_code))"
                text = f"with the row {name} {words}, in the layer {layer}"
                yield _replaced(matcher, row, (new,), ROW_NARROWED, text, layer=layer)


def _added_rows(matcher: Matcher, own: Iterable[Rule], codes: Iterable[str]) -> Iterator[Mutant]:
    for text, row, layer, name, code in _new_rows(own, codes):
        rows = (*matcher.rows, f"{row} and r_layer == {layer!r}")
        whole = joined(matcher.layers, matcher.objects, rows)
        where = f"{text}, in the layer {layer}"
        yield Mutant(ROW_WIDENED, where, whole, layer=layer, object=name, code=code)


def _new_rows(
    own: Iterable[Rule], codes: Iterable[str]
) -> Iterator[tuple[str, str, str, str | None, str | None]]:
    """Yield text, row, layer, and the object and code to which the row is limited."""
    session = "isLoggedIn(r_caller)"
    general = [
        ("open to everybody logged in", session),
        (f"{NOBODY} open to everybody logged in", f"{session} and p_code == {NOBODY!r}"),
        ("* opens the words too", "holdsEverything(r_caller, 'a')"),
        *((f"wildcards widened: {words}", f"{name}(r_caller, p_code)") for name, (words, _) in WIDER.items()),
    ]
    for layer in LAYERS:
        for text, row in general:
            yield text, row, layer, None, None
        for code in codes:
            text = f"{code} open to everybody logged in"
            yield text, f"{session} and p_code == {code!r}", layer, None, code
    for place, name in dict.fromkeys(_back_doors(own)):
        text = f"{name} open to everybody logged in"
        yield text, f"{session} and r_object == {name!r}", place, name, None


def _back_doors(own: Iterable[Rule]) -> Iterator[tuple[str, str]]:
    """Yield layer and object of the lines by which a single object could be opened."""
    for rule in own:
        if rule.code.startswith("@"):
            if rule.object == UNREGISTERED:
                yield RESOURCE, rule.object
            continue
        yield ENDPOINT, rule.object
        yield RESOURCE, rule.object
        yield GRANT, rule.code
        yield PERMISSION, rule.code
