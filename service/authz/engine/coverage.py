"""Compares routes, endpoint lines and the catalogue, and finds paths that lose requests to others."""

from collections.abc import Collection, Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import Final

from service.authz.engine.paths import shape
from service.authz.engine.rules import ANYONE, ASSURANCE, ENDPOINT, LOGIN, Rule, assured

Route = tuple[str, str, AbstractSet[str]]
"""Method, template, and the access of the operation metadata: codes, ``@anyone`` or ``@login``."""


def coverage_faults(routes: Iterable[Route], endpoints: Collection[Rule]) -> list[str]:
    """Return a sentence for each route without a line, line without a route, and differing pair.

    ``endpoints`` are the lines of the endpoint layer, and the demands on endpoints. Empty when code and lines
    agree.
    """
    declared = {f"{method} {template}": frozenset(codes) for method, template, codes in routes}
    lines: dict[str, set[str]] = {}
    demanded = dict.fromkeys(
        rule.object.partition(" ")[2]
        for rule in endpoints
        if rule.layer == ASSURANCE and rule.object.startswith(assured(ENDPOINT, ""))
    )
    for rule in endpoints:
        if rule.layer == ENDPOINT:
            lines.setdefault(rule.object, set()).add(rule.code)
    faults = [
        f"{name}: assurance lines for a route that does not exist"
        for name in demanded
        if name not in declared
    ]
    for name in sorted(declared.keys() | lines.keys()):
        expected, actual = declared.get(name), lines.get(name)
        if expected is None:
            faults.append(f"{name}: endpoint lines for a route that does not exist")
        elif actual is None:
            faults.append(f"{name}: the route has no endpoint line")
        elif expected != actual:
            faults.append(
                f"{name}: the code requires {_listed(expected)}, the lines require {_listed(actual)}"
            )
    return faults


def catalogue_faults(routes: Iterable[Route], catalogue: Mapping[str, AbstractSet[str]]) -> list[str]:
    """Return a sentence for each difference between the routes and the endpoints of the catalogue.

    ``catalogue`` gives the codes of each endpoint that needs one. Empty when code and catalogue agree.
    """
    declared = {f"{method} {template}": set(codes) - {ANYONE, LOGIN} for method, template, codes in routes}
    faults = [
        f"{name}: the permission catalogue opens it by {_listed(codes)}, but the route does not exist"
        for name, codes in sorted(catalogue.items())
        if name not in declared
    ]
    return faults + [
        f"{name}: the code requires {_listed(codes)}, the permission catalogue has {_listed(catalogued)}"
        for name, codes in sorted(declared.items())
        if codes != (catalogued := catalogue.get(name, frozenset()))
    ]


def _listed(codes: Iterable[str]) -> str:
    return " or ".join(sorted(codes)) or "nothing"


_PARAMETER: Final = "{}"

Segments = list[str]


def losing(path: str, registered: Iterable[str]) -> list[str]:
    """Return the paths of ``registered`` that would lose requests to ``path``.

    All are paths of one method, without ``path`` itself. As in ``ResourceIndex``, literal segments win over
    parameters, from left to right. A path loses nothing if a more specific one already takes all requests of
    ``path``.
    """
    mine = _segments(path)
    rivals = sorted(
        (_marks(theirs), other)
        for other in registered
        if _meet(theirs := _segments(other), mine) and _marks(theirs) > _marks(mine)
    )
    losers = []
    for _, other in rivals:
        losers.append(other)
        if _covers(_segments(other), mine):
            break
    return losers


def _segments(path: str) -> Segments:
    return shape(path).split("/")


def _marks(segments: Segments) -> list[bool]:
    return [segment == _PARAMETER for segment in segments]


def _meet(first: Segments, other: Segments) -> bool:
    """True if some request matches both."""
    return len(first) == len(other) and all(
        a == b or _PARAMETER in (a, b) for a, b in zip(first, other, strict=True)
    )


def _covers(general: Segments, special: Segments) -> bool:
    """True if ``general`` matches every request of ``special``; both have the same number of segments."""
    return all(a in (b, _PARAMETER) for a, b in zip(general, special, strict=True))
