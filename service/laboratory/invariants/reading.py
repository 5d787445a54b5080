"""Reads files of invariants; ``policies/README.md`` describes their form."""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from service.authz.engine.rules import (
    ANYONE,
    ASSURANCE,
    ENDPOINT,
    LOGIN,
    METHODS,
    NOBODY,
    PolicyError,
    PolicyFileError,
    Rule,
    checked,
    object_fault,
)
from service.kernel.coded_sentences import Sentence
from service.kernel.codes import is_code
from service.kernel.core_sentences import sentence
from service.laboratory.invariants.demand_lists import DemandList, demand_faults, exact_demands
from service.laboratory.invariants.statements import (
    LISTED,
    Apart,
    CodeNeeded,
    CodesLike,
    EndsWithin,
    ExactLines,
    Exactly,
    Invariants,
    OnlyHolders,
    OnlyRoles,
    Statement,
    WithinPerson,
)
from service.laboratory.proof.within import Bounded
from service.laboratory.strict_yaml import Document, YamlError, read_yaml

_NAME: Final = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_WORDS: Final = (ANYONE, LOGIN, NOBODY)
_KINDS: Final = (
    "only_roles",
    "only_holders_of",
    "no_role_holds",
    "no_user_holds",
    "grants_end_within",
    "code_needed_for",
    "within_their_person",
)
_BESIDE: Final = {
    "only_roles": "reach",
    "only_holders_of": "reach",
    "no_role_holds": "except_roles",
    "no_user_holds": "except_roles",
    "grants_end_within": "except_roles",
    "code_needed_for": "except_requests",
}


class _Strict(msgspec.Struct, forbid_unknown_fields=True):
    pass


class _EndsWithin(_Strict):
    days: int
    roles: list[str] | None = None
    codes: list[str] | None = None


class _Stated(_Strict):
    name: str
    reason: str
    only_roles: list[str] | None = None
    only_holders_of: list[str] | None = None
    no_role_holds: list[str] | None = None
    no_user_holds: list[str] | None = None
    grants_end_within: _EndsWithin | None = None
    code_needed_for: list[str] | None = None
    within_their_person: list[Bounded] | None = None
    reach: list[str] | None = None
    except_roles: list[str] | None = None
    except_requests: list[str] | None = None


class _Objects(_Strict):
    resource: list[str]
    endpoint: list[str]
    account: list[str] | None = None  # older files have none
    assurance: list[str] | None = None  # likewise


class InvariantsFile(_Strict):
    """A file of invariants: exact lists of what lines open and demand, the form of codes, and statements."""

    anyone: _Objects | None = msgspec.field(name=ANYONE, default=None)
    login: _Objects | None = msgspec.field(name=LOGIN, default=None)
    nobody: _Objects | None = msgspec.field(name=NOBODY, default=None)
    assurance: dict[str, DemandList] | None = None
    lines: list[str] | None = None
    codes: str | None = None
    statements: list[_Stated] = []


def read_invariants(paths: Iterable[Path]) -> Invariants:
    """Return the statements of all ``paths``.

    Raises PolicyError with file, line and reason of every fault.
    """
    statements: list[Statement] = []
    faults: list[str] = []
    for path in paths:
        try:
            document = read_yaml(path, InvariantsFile)
        except YamlError as error:
            faults += error.faults
            continue
        wrong = list(_faults(document))
        faults += wrong
        if not wrong:
            statements += _statements(document)
    seen: dict[str, str] = {}
    for statement in statements:
        if (first := seen.setdefault(statement.name, statement.place)) != statement.place:
            faults.append(f"{statement.place}: the name {statement.name} is already used in {first}")
    if faults:
        raise PolicyFileError(*faults)
    return Invariants(tuple(statements))


def _faults(document: Document[InvariantsFile]) -> Iterator[str]:
    if (pattern := document.value.codes) is not None:
        try:
            re.compile(pattern)
        except re.error as error:
            yield f"{document.place('codes')}: not a regular expression: {error}"
    try:
        tuple(_lines(document))
    except PolicyError as error:
        yield from error.faults
    for level, demands in (document.value.assurance or {}).items():
        for keys, reason in demand_faults(level, demands):
            yield f"{document.place('assurance', level, *keys)}: {reason}"
    for at, stated in enumerate(document.value.statements):
        for keys, reason in _faults_of(stated):
            yield f"{document.place('statements', at, *keys)}: {reason}"


def _lines(document: Document[InvariantsFile]) -> Iterator[Rule]:
    listed = enumerate(document.value.lines or ())
    return checked((document.place("lines", at), text.removeprefix("p, ").split(", ")) for at, text in listed)


Fault = tuple[Sequence[str | int], str]
"""A place in a statement, and its fault."""


def _faults_of(stated: _Stated) -> Iterator[Fault]:
    if not _NAME.fullmatch(stated.name):
        yield ("name",), "a name must be words of a-z and 0-9, joined by -"
    if not stated.reason.strip():
        yield ("reason",), "the reason is missing"
    given = [name for name in _KINDS if getattr(stated, name) is not None]
    if len(given) == 1:
        yield from _beside_faults(given[0], stated)
        if stated.grants_end_within is not None:
            yield from _ends_within_faults(stated.grants_end_within)
        else:
            yield from _kind_faults(given[0], stated)
    else:
        yield (), f"a statement must have exactly one of {', '.join(_KINDS)}"


def _beside_faults(kind: str, stated: _Stated) -> Iterator[Fault]:
    for name in sorted({*_BESIDE.values()} - {_BESIDE.get(kind)}):
        if getattr(stated, name) is not None:
            yield (name,), f"{name} does not belong to {kind}"


def _kind_faults(kind: str, stated: _Stated) -> Iterator[Fault]:
    if _BESIDE.get(kind) == "reach" and not stated.reach:
        yield ("reach",), f"{kind} needs reach, the list of its requests"
    values, apart = getattr(stated, kind), kind.startswith("no_")
    if len(values) < 1 + apart:
        yield (kind,), f"{kind} names {'two or more codes' if apart else 'at least one'}"
    for at, text in enumerate(values):
        if reason := _value_fault(kind, text):
            yield (kind, at), reason
    for name in ("reach", "except_requests"):
        for at, request in enumerate(getattr(stated, name) or ()):
            if reason := object_fault(ENDPOINT, request):
                yield (name, at), reason


def _ends_within_faults(stated: _EndsWithin) -> Iterator[Fault]:
    kind = "grants_end_within"
    if stated.days < 1:
        yield (kind, "days"), "days must be 1 or more"
    if not (stated.roles or stated.codes):
        yield (kind,), f"{kind} must name roles, codes, or both"
    if "" in (stated.roles or ()):
        yield (kind, "roles"), "a role code must not be empty"
    for at, code in enumerate(stated.codes or ()):
        if reason := _value_fault("no_user_holds", code):
            yield (kind, "codes", at), reason


def _value_fault(kind: str, text: str) -> str | None:
    if kind == "only_roles":
        return None if text else "a role code must not be empty"
    if kind == "code_needed_for":
        return None if text in METHODS else f"{text!r} must be one of {', '.join(METHODS)}"
    if kind == "within_their_person":
        return None  # read as one of the kinds
    if not is_code(text):
        return f"{text!r} is not a permission code"
    if kind.startswith("no_") and "*" in text.split(":"):
        return f"{text} has a wildcard: list each code that must be kept apart"
    return None


def _statements(document: Document[InvariantsFile]) -> Iterator[Statement]:
    content = document.value
    for word, listed in zip(_WORDS, (content.anyone, content.login, content.nobody), strict=True):
        for layer in (*LISTED, ASSURANCE):
            if (objects := getattr(listed, layer, None)) is None:
                continue
            yield Exactly(
                name=f"{word} {layer}",
                reason=sentence("reason_openings_listed", word=word),
                place=document.place(word, layer),
                word=word,
                layer=layer,
                objects=tuple(objects),
            )
    open_to_all = () if content.anyone is None else content.anyone.assurance or ()
    for level, demands in (content.assurance or {}).items():
        yield exact_demands(level, demands, open_to_all, document.place("assurance", level))
    if content.lines is not None:
        yield ExactLines(
            name="lines",
            reason=sentence("reason_lines_listed"),
            place=document.place("lines"),
            lines=tuple(_lines(document)),
        )
    if content.codes is not None:
        place = document.place("codes")
        yield CodesLike(
            name="codes", reason=sentence("reason_form_of_codes"), place=place, pattern=content.codes
        )
    for at, stated in enumerate(content.statements):
        yield _statement(stated, document.place("statements", at))


def _reason(stated: _Stated) -> Sentence:
    """Return the reason of a statement; one that the product ships has the code of its name."""
    text, code = stated.reason.strip(), f"reason_{stated.name.replace('-', '_')}"
    return sentence(code) if sentence.texts.get(code) == text else Sentence(text)


def _statement(stated: _Stated, place: str) -> Statement:
    common: dict[str, Any] = {"name": stated.name, "reason": _reason(stated), "place": place}
    reach, roles = tuple(stated.reach or ()), tuple(stated.except_roles or ())
    if stated.only_roles is not None:
        return OnlyRoles(**common, roles=tuple(stated.only_roles), requests=reach)
    if stated.only_holders_of is not None:
        return OnlyHolders(**common, codes=tuple(stated.only_holders_of), requests=reach)
    if (apart := stated.no_role_holds or stated.no_user_holds) is not None:
        among: Literal["roles", "users"] = "users" if stated.no_role_holds is None else "roles"
        return Apart(**common, among=among, codes=tuple(apart), excepted=roles)
    if (ends := stated.grants_end_within) is not None:
        common |= {"roles": tuple(ends.roles or ()), "codes": tuple(ends.codes or ())}
        return EndsWithin(**common, days=ends.days, excepted=roles)
    if stated.within_their_person is not None:
        return WithinPerson(**common, callers=tuple(stated.within_their_person))
    excepted = tuple(stated.except_requests or ())
    return CodeNeeded(**common, methods=tuple(stated.code_needed_for or ()), excepted=excepted)
