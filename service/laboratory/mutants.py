"""Mutants of a policy: small faults in its lines and in its matcher, which decision tables must notice."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

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
from service.laboratory.altered_predicates import NARROWER, WIDER
from service.laboratory.matcher_rows import Matcher, conjuncts, joined, name_of, shown

LINE_DELETED: Final = "a line deleted"
LINE_ADDED: Final = "a line added"
ROW_DROPPED: Final = "a row of the matcher dropped"
ROW_NARROWED: Final = "a row of the matcher narrowed"
ROW_WIDENED: Final = "a row of the matcher widened or added"
EQUALITY_DROPPED: Final = "an equality dropped"


@dataclass(frozen=True, slots=True)
class Mutant:
    """A policy with one fault.

    ``text`` says what differs. Either ``added`` or ``deleted`` is a line, or ``expression`` is the matcher
    that replaces the model's. Only questions to ``layer``, about ``object``, about an object with a line of
    ``code`` can be answered differently; None stands for any. ``unkeyed``: lines of other objects may match.
    """

    kind: str
    text: str
    expression: str | None = None
    added: Rule | None = None
    deleted: Rule | None = None
    layer: str | None = None
    object: str | None = None
    code: str | None = None
    unkeyed: bool = False


def line_mutants(own: Collection[Rule], registered: Iterable[str]) -> Iterator[Mutant]:
    """Yield ``own`` with each line deleted, and with each other code and word added to each object.

    Of layers with a closed list of objects, each object without a line is opened too. ``registered`` are
    resources of tables, each of which gets a line that voids what is bound to it.
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
    new += [Rule(RESOURCE, name, LOGIN) for name in registered]
    present = set(own)
    for rule in new:
        if rule not in present:
            yield Mutant(LINE_ADDED, f"with '{rule}'", added=rule, layer=rule.layer, object=rule.object)


def codes_of(rules: Iterable[Rule]) -> list[str]:
    """Return the permission codes of ``rules``, each once, in order."""
    return list(dict.fromkeys(rule.code for rule in rules if not rule.code.startswith("@")))


def matcher_mutants(matcher: Matcher, own: Collection[Rule]) -> Iterator[Mutant]:
    """Yield faults of ``matcher``: in all layers, and in each layer alone.

    ``own`` are the lines of the node: faults for one code or one object are made with theirs.
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
    def made(text: str, layers: str, objects: str, layer: str | None = None) -> Mutant:
        whole = joined(layers, objects, matcher.rows)
        return Mutant(EQUALITY_DROPPED, text, whole, layer=layer, unkeyed=True)

    for name, equality in (("layer", matcher.layers), ("object", matcher.objects)):
        for layer in (None, *LAYERS):
            loose = "True" if layer is None else f"({equality} or r_layer == {layer!r})"
            where = "" if layer is None else f" in the layer {layer}"
            layers, objects = (loose, matcher.objects) if name == "layer" else (matcher.layers, loose)
            yield made(f"without '{shown(equality)}'{where}", layers, objects, layer)


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
    """Yield text, row, layer, and the object and the code that it is limited to."""
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
    """Yield layer and object of the lines that a single object could be opened past."""
    for rule in own:
        if rule.code.startswith("@"):
            if rule.object == UNREGISTERED:
                yield RESOURCE, rule.object
            continue
        yield ENDPOINT, rule.object
        yield RESOURCE, rule.object
        yield GRANT, rule.code
        yield PERMISSION, rule.code
