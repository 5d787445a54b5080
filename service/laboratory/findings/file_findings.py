"""Lint findings about the files of a policy, in addition to the errors that stop a start."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from service.authz.engine.lines import Lines
from service.authz.engine.rules import ANYONE, ASSURANCE, LOGIN, PolicyError, Rule
from service.authz.publishing.shipped import Shipped
from service.kernel.assurance import BY_STRONGEST
from service.kernel.extension import INVARIANTS
from service.laboratory.analysis.demands import meeting
from service.laboratory.findings.findings import STALE, Finding
from service.laboratory.invariants.checking import Violation, check
from service.laboratory.tables import Table, read_tables

POLICY: Final = "policy-refused"
ROUTES: Final = "routes-differ"
TABLE: Final = "table-unreadable"
OBJECT: Final = "case-about-unknown-object"
INVARIANT: Final = "invariant-broken"
LOGIN_CHANGE: Final = "login-alone-changes"
PUBLIC_CHANGE: Final = "public-change"
UNLISTED: Final = "openings-unlisted"
POINTLESS: Final = "demand-without-effect"
WEAKER: Final = "demand-weaker-than-shipped"

CODES: Final = (
    POLICY,
    ROUTES,
    TABLE,
    OBJECT,
    INVARIANT,
    LOGIN_CHANGE,
    PUBLIC_CHANGE,
    UNLISTED,
    POINTLESS,
    WEAKER,
    STALE,
)
"""The codes of the findings in files."""

_PLACE: Final = re.compile(r"(\S+?:\d+): (.*)", re.DOTALL)


def refused(code: str, faults: Iterable[str], place: str) -> list[Finding]:
    """Return a finding with ``code`` for each of ``faults``; ``place`` serves faults that name no file."""
    findings = []
    for fault in faults:
        match = _PLACE.fullmatch(fault)
        findings.append(Finding(code, match[1], match[2]) if match else Finding(code, place, fault))
    return findings


def file_findings(own: Shipped, paths: Iterable[Path]) -> list[Finding]:
    """Return the findings about the lines, invariants and decision tables of a policy.

    ``paths`` are the paths of the tables.
    """
    violations = check(own.invariants, own.policy(Lines(), {}, 0)).violations
    findings = [*_changes(own), *_unlisted(own), *_pointless(own.assurance), *broken_invariants(violations)]
    try:
        for table in read_tables(paths, own):
            findings += _unknown_objects(table)
    except PolicyError as error:
        findings += refused(TABLE, error.faults, "cases")
    return findings


def _changes(own: Shipped) -> Iterator[Finding]:
    for rule in own.endpoints:
        if rule.object.startswith("GET "):
            continue
        if rule.code == LOGIN:
            yield Finding(
                LOGIN_CHANGE, rule.object, "a changing request is open to everyone who is logged in"
            )
        elif rule.code == ANYONE:
            yield Finding(PUBLIC_CHANGE, rule.object, "a changing request is open to everyone")


def _unlisted(own: Shipped) -> Iterator[Finding]:
    for name in own.invariants.unlisted:
        word, _, layer = name.partition(" ")
        where = f" in the layer {layer}" if layer else ""
        what = "by a code" if name == "lines" else f"to {word}{where}"
        says = "authentication demands" if name == ASSURANCE else f"objects that the files open {what}"
        yield Finding(UNLISTED, f"{INVARIANTS} {name}", f"the complete list of {says} is missing")


def _pointless(demands: Iterable[Rule]) -> Iterator[Finding]:
    """Yield demand lines made useless by a weaker demand on the same object: one satisfied line is enough."""
    words: dict[str, list[str]] = {}
    for rule in demands:
        words.setdefault(rule.object, []).append(rule.code)
    for name, of in words.items():
        for word in of:
            for weaker in of:
                if weaker != word and weaker in BY_STRONGEST[word].codes:
                    yield Finding(
                        POINTLESS, name, f"the line for {word} has no effect: {weaker} demands less"
                    )


def weaker_demands(own: Shipped, shipped: Iterable[Rule], level: str) -> Iterator[Finding]:
    """Yield the objects on which ``own`` demands less than the lines ``shipped`` of the same level.

    That is, some caller meets the one demand and not the other. Objects without a shipped line are left out:
    they belong to extensions.
    """
    demanded: dict[str, tuple[str, ...]] = {}
    for rule in shipped:
        demanded[rule.object] = (*demanded.get(rule.object, ()), rule.code)
    words: dict[str, tuple[str, ...]] = {}
    for rule in own.assurance:
        words[rule.object] = (*words.get(rule.object, ()), rule.code)
    for name, strong in demanded.items():
        weak = words.get(name, ())
        if meeting(own.model_text, (weak,)) - meeting(own.model_text, (strong,)):
            here, there = " or ".join(weak), " or ".join(strong)
            yield Finding(
                WEAKER, f"{level} {name}", f"{here} is enough, where the shipped file demands {there}"
            )


def broken_invariants(violations: Iterable[Violation]) -> list[Finding]:
    return [
        Finding(INVARIANT, violation.statement.place, f"{violation.statement.name}: {violation.finding}")
        for violation in violations
    ]


def _unknown_objects(table: Table) -> Iterator[Finding]:
    """Yield cases about objects without a line that do not state it: a mistyped object is denied too."""
    for asked in table.asked:
        if asked.case.reason == "no_line":
            continue
        for question in asked.questions:
            if not table.rules.codes(question.layer, question.object):
                message = f"no line of the layer {question.layer} names {question.object}"
                yield Finding(OBJECT, asked.place, f"{message}: if that is meant, say 'reason: no_line'")
