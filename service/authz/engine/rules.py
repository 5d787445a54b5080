"""Policy lines: their grammar, and the strict reader of policy files.

A plain Casbin reads the files too; it splits lines at commas, gives meaning to brackets and ``#``, and strips
spaces. The grammar here allows none of those characters inside a value, so that both readers see the same
lines.
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import Final, Literal, NamedTuple, TypeAlias, get_args

from service.authz.engine.paths import registered_fault
from service.kernel import account_acts, assurance, request_objects
from service.kernel.coded_sentences import Sentence
from service.kernel.codes import is_code
from service.kernel.core_sentences import sentence
from service.kernel.operator_error import FaultsError
from service.kernel.services import (
    ACTIONS,
    PORTCULLIS,
    UNTIL,
    is_opening_word,
    is_other_service,
    is_service_name,
    split_object,
)


class PolicyError(FaultsError):
    """The model or the policy lines can't be used; ``faults`` are sentences for the person who fixes them."""

    def __init__(self, *faults: Sentence) -> None:
        super().__init__(faults)

    @property
    def stated(self) -> Sentence:
        """Return all faults as one sentence."""
        return reduce(lambda first, rest: sentence("both_findings", first=first, second=rest), self.faults)


class PolicyFileError(PolicyError):
    """The same, for faults of files and commands: texts for the operator alone, which no client receives."""

    def __init__(self, *faults: str) -> None:
        super().__init__(*map(Sentence.of, faults))


RESOURCE: Final = "resource"
"""The layer of resources that administrators registered and bound."""
ENDPOINT: Final = "endpoint"
"""The layer of endpoints that the code declares."""
GRANT: Final = "grant"
"""The layer of delegation: may the caller hand out, take away, bind or act on a permission code?"""
PERMISSION: Final = "permission"
"""The layer of codes that other services ask about: may the caller do what a permission code stands for?"""
SERVICE: Final = "service"
"""The layer of services: administration of the resources of each, and the reading of other routers."""
ACCOUNT: Final = "account"
"""The layer of accounts: what may callers do with their own account, and with those of others?"""
ASSURANCE: Final = "assurance"
"""The layer of authentication demands: is the caller's authentication strong and recent enough?"""
REQUEST: Final = "request"
"""The layer of requests for access: may the caller ask for a role?"""
APPROVE: Final = "approve"
"""The layer of approvals: may the caller approve the requests of others, and how many must do so?"""
REVIEW: Final = "review"
"""The layer of reviews: may the caller decide who keeps a role, and close a review?"""

LayerName: TypeAlias = Literal[
    "resource",
    "endpoint",
    "grant",
    "permission",
    "service",
    "account",
    "assurance",
    "request",
    "approve",
    "review",
]
LAYERS: Final[tuple[LayerName, ...]] = get_args(LayerName)
"""All layers. New ones are added at the end, those of the same release by name: older nodes leave published
lines of theirs out, and put layers that they do not know in that order when they check the digest."""

DENYING: Final = tuple(layer for layer in LAYERS if layer != PERMISSION)
"""The layers by which this service refuses what callers ask of it."""

OF_REQUESTS: Final = frozenset({RESOURCE, ENDPOINT, SERVICE, ASSURANCE})
"""The layers that decide requests, or determine how requests are read; lines of others change none."""

OF_CODES: Final = frozenset({GRANT, PERMISSION})
"""The layers whose objects are permission codes: each line names one code twice."""

OBJECTS: Final[Mapping[str, frozenset[str]]] = {
    ACCOUNT: account_acts.OBJECTS,
    REVIEW: request_objects.OF_REVIEWS,
}
"""All objects of each layer that has a closed list of them in the node's own files."""

ASSURED: Final = (ENDPOINT, RESOURCE, ACCOUNT, REQUEST)
"""The layers whose objects have demands in the layer ``assurance``, named ``endpoint GET /x`` there."""

UNREGISTERED: Final = "@unregistered"
"""The object in the resource layer of a request without a matching resource."""
NO_SESSION: Final = "@no-session"
"""The object in the resource layer of a request by a caller without a session."""
PREFLIGHT: Final = "@preflight"
"""The object in the resource layer of a preflight request to a service that allows them."""
AMBIGUOUS: Final = "@ambiguous"
"""The object of a request that the router of another service may read in two ways; it never has a line."""
UNKNOWN: Final = "@unknown"
"""The object of a request to a service, or to a route of this one, that there is not; never with a line."""

ANYONE: Final = assurance.ANYONE
LOGIN: Final = assurance.LOGIN
NOBODY: Final = "@nobody"
"""The word of an object that is closed to every caller."""
COUNTED: Final = "@counted"
"""The word of a line with a required number of approvals: the line is only read, and opens nothing."""
REGISTERED: Final = "@registered"
"""The word of a line that registers another service.

Read, and not yet published: nodes before 0.3.0 know ``@nobody`` alone there; the next release need not
consider them.
"""
OPENING_NOTHING: Final = frozenset({NOBODY, COUNTED, REGISTERED})
"""The words that no row of the matcher has: a line with one opens nothing."""

IGNORE_CASE: Final = "@ignore-case"
IGNORE_TRAILING_SLASH: Final = "@ignore-trailing-slash"
ALLOW_PREFLIGHT: Final = "@allow-preflight"

METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE")

WORDS: Final = frozenset({ANYONE, LOGIN, NOBODY})
"""The words that may stand for a code in the layers that ask about held codes."""
_SITUATIONS = frozenset({UNREGISTERED, NO_SESSION, PREFLIGHT})
_ROUTER = (NOBODY, IGNORE_CASE, IGNORE_TRAILING_SLASH, ALLOW_PREFLIGHT, REGISTERED)


class Rule(NamedTuple):
    """One policy line; as text, the line itself: ``p, endpoint, GET /api/role/list, system:role:list``."""

    layer: str
    object: str
    code: str

    def __str__(self) -> str:
        return f"p, {self.layer}, {self.object}, {self.code}"


def object_fault(layer: str, name: str) -> Sentence | None:
    """Return why ``name`` can't be an object of ``layer``; None if it can."""
    if layer not in LAYERS:
        return sentence("unknown_layer", layers=LAYERS[:-1], last=LAYERS[-1], layer=repr(layer))
    return _GRAMMARS[layer].object_fault(name)


def code_fault(layer: str, name: str, code: str) -> Sentence | None:
    """Return why ``code`` can't be the code of a line of object ``name`` in ``layer``; None if it can."""
    return _ending_fault(layer, name, code) if UNTIL in code else _GRAMMARS[layer].code_fault(name, code)


def is_valid_everywhere(layer: str, code: str) -> bool:
    """True if a valid code of an object of ``layer`` is valid for each other object of these layers."""
    return UNTIL not in code and not has_codes_of_its_own(layer)


def has_codes_of_its_own(layer: str) -> bool:
    """True if the validity of a code depends on the layer and the object; else a code is valid everywhere."""
    return _GRAMMARS[layer].code_fault is not _code_fault


def _resource_fault(name: str) -> Sentence | None:
    return None if name in _SITUATIONS else _route_fault(*split_object(name), whole=name)


def _endpoint_fault(name: str) -> Sentence | None:
    if name in _SITUATIONS:
        return sentence("object_of_resource_layer", object=name, layer=RESOURCE)
    return _route_fault(PORTCULLIS, name, whole=name)


def _route_fault(service: str, route: str, *, whole: str) -> Sentence | None:
    if whole != route and not is_other_service(service):
        return sentence("not_another_service", service=repr(service))
    other = service != PORTCULLIS
    if other and route == UNREGISTERED:
        return None
    method, space, path = route.partition(" ")
    if method not in METHODS or not space:
        return sentence("object_not_a_request", methods=METHODS, object=repr(route))
    fault = registered_fault(path, may_end_in_slash=other)
    return sentence("object_path_fault", fault=fault, path=repr(path)) if fault else None


def _coded_fault(name: str) -> Sentence | None:
    return None if is_code(name) else sentence("object_not_a_code", object=repr(name))


def _service_fault(name: str) -> Sentence | None:
    service, space, action = name.partition(" ")
    if not space:
        return None if is_other_service(name) else sentence("object_not_a_service", object=repr(name))
    if action in ACTIONS and is_service_name(service):
        return None
    return sentence("object_not_an_action", actions=ACTIONS, object=repr(name))


def _account_fault(name: str) -> Sentence | None:
    if name in OBJECTS[ACCOUNT]:
        return None
    return sentence("object_not_an_act", object=repr(name))


def _account_code_fault(name: str, code: str) -> Sentence | None:
    if name in account_acts.NEVER_OPEN and code != NOBODY:
        return sentence("object_always_closed", object=f"'{name}'")
    return _code_fault(name, code)


def _code_fault(_name: str, code: str) -> Sentence | None:
    if code in WORDS or is_code(code):
        return None
    return sentence("code_of_line_malformed", code=repr(code))


def _ending_fault(layer: str, name: str, code: str) -> Sentence | None:
    if layer != RESOURCE or not is_other_service(split_object(name)[0]):
        return sentence("end_of_line_refused", code=repr(code))
    if is_opening_word(code):
        return None
    return sentence("end_of_line_malformed", form=f"'{ANYONE}{UNTIL}2026-12-31T00:00:00Z'", code=repr(code))


def _same_code_fault(name: str, code: str) -> Sentence | None:
    return None if code == name else sentence("object_not_code", object=repr(name), code=repr(code))


def _service_code_fault(name: str, code: str) -> Sentence | None:
    if " " in name:
        return None if is_code(code) else sentence("code_of_line_required", code=repr(code))
    return None if code in _ROUTER else sentence("code_of_line_not_among", codes=_ROUTER, code=repr(code))


def assured(layer: str, name: str) -> str:
    """Return the object of the layer ``assurance`` that has the demand on object ``name`` of ``layer``."""
    return f"{layer} {name}"


def _assurance_fault(name: str) -> Sentence | None:
    layer, _, rest = name.partition(" ")
    if layer not in ASSURED:
        return sentence("object_not_of_layers", layers=ASSURED, object=repr(name))
    return _GRAMMARS[layer].object_fault(rest)


def _assurance_code_fault(_name: str, code: str) -> Sentence | None:
    words = assurance.WORDS
    return None if code in words else sentence("code_of_line_not_among", codes=words, code=repr(code))


def _request_fault(name: str) -> Sentence | None:
    if request_objects.is_asked(name):
        return None
    return sentence("object_not_a_role", object=repr(name))


def _request_code_fault(_name: str, code: str) -> Sentence | None:
    return None if code == LOGIN or is_code(code) else sentence("code_of_line_or_login", code=repr(code))


def _approve_fault(name: str) -> Sentence | None:
    if request_objects.is_decided(name):
        return None
    return sentence("object_not_a_stage", object=repr(name))


def _approve_code_fault(name: str, code: str) -> Sentence | None:
    if name.endswith(" self"):
        return sentence("line_approves_oneself")
    if name.endswith(" others"):
        return None if is_code(code) else sentence("code_of_line_required", code=repr(code))
    if name.endswith(" without-grant"):
        return None if code == LOGIN else sentence("code_of_line_other", expected=LOGIN, code=repr(code))
    # Revisions of development versions have @nobody.
    return (
        None
        if code in (COUNTED, NOBODY)
        else sentence("code_of_line_other", expected=COUNTED, code=repr(code))
    )


def _review_fault(name: str) -> Sentence | None:
    if name in OBJECTS[REVIEW]:
        return None
    if (code := request_objects.code_of_review(name)) is not None:
        return _coded_fault(code)
    return sentence("object_not_among", objects=sorted(OBJECTS[REVIEW]), object=repr(name))


def _review_code_fault(name: str, code: str) -> Sentence | None:
    if name in request_objects.NEVER_OPEN:
        return sentence("line_reviews_oneself")
    if (named := request_objects.code_of_review(name)) is not None:
        return _same_code_fault(named, code)
    return None if code == NOBODY or is_code(code) else sentence("code_of_line_required", code=repr(code))


class _Grammar(NamedTuple):
    """Grammar of the objects of a layer, and of the codes of their lines: each returns the fault, or None."""

    object_fault: Callable[[str], Sentence | None]
    code_fault: Callable[[str, str], Sentence | None] = _code_fault


_GRAMMARS: Final[Mapping[str, _Grammar]] = {
    RESOURCE: _Grammar(_resource_fault),
    ENDPOINT: _Grammar(_endpoint_fault),
    GRANT: _Grammar(_coded_fault, _same_code_fault),
    PERMISSION: _Grammar(_coded_fault, _same_code_fault),
    SERVICE: _Grammar(_service_fault, _service_code_fault),
    ACCOUNT: _Grammar(_account_fault, _account_code_fault),
    ASSURANCE: _Grammar(_assurance_fault, _assurance_code_fault),
    REQUEST: _Grammar(_request_fault, _request_code_fault),
    APPROVE: _Grammar(_approve_fault, _approve_code_fault),
    REVIEW: _Grammar(_review_fault, _review_code_fault),
}


def fault_at(place: str, fault: Sentence) -> Sentence:
    """Return a fault with its place, such as ``file:line``."""
    return sentence("fault_at", place=place, fault=fault)


def checked(rows: Iterable[tuple[str, Sequence[str]]]) -> Iterator[Rule]:
    """Yield a Rule for each ``(place, columns)``; raises PolicyError with all faults after the last one.

    Columns are those after the ``p``. Equal texts become one string, since a hundred thousand lines share few
    codes.
    """
    faults: list[Sentence] = []
    good_codes: set[str] = set()
    good_place: tuple[str, str] | None = None
    for where, columns in rows:
        if len(columns) != len(Rule._fields):
            faults.append(fault_at(where, sentence("line_columns", columns=len(columns) + 1)))
            continue
        rule = Rule(*map(sys.intern, columns))
        # Most lines have the same object as the previous one, and a code seen before.
        fault = None if rule[:2] == good_place else object_fault(rule.layer, rule.object)
        if not fault and (rule.code not in good_codes or has_codes_of_its_own(rule.layer)):
            fault = code_fault(*rule)
        if fault:
            faults.append(fault_at(where, fault))
            continue
        good_place = rule[:2]
        if is_valid_everywhere(rule.layer, rule.code):
            good_codes.add(rule.code)
        yield rule
    if faults:
        raise PolicyError(*faults)


def read_rules(path: Path) -> tuple[Rule, ...]:
    """Return the lines of a policy file in order; raises PolicyError with file and line of every fault.

    Blank lines and lines that start with ``#`` are skipped. Every other line is ``p, layer, object, code``;
    its end may be that of Windows, and a byte order mark may stand before the first. Repeated lines are
    refused, since an edit could miss one of them.
    """
    return tuple(checked(_rows(path)))


def _rows(path: Path) -> Iterator[tuple[str, Sequence[str]]]:
    try:
        # Bytes, since universal newlines would split lines where Casbin does not: at a single \r. Editors of
        # Windows write a mark before the first line, and \r\n at the ends of lines.
        text = path.read_bytes().decode("utf-8-sig").replace("\r\n", "\n")
    except (OSError, UnicodeDecodeError) as error:
        raise PolicyFileError(f"{path} can't be read: {error}") from error
    seen = set()
    for number, line in enumerate(text.split("\n"), start=1):
        if not line or line.startswith("#"):
            continue
        where = f"{path}:{number}"
        if line in seen:
            raise PolicyFileError(f"{where}: duplicate line '{line}'")
        seen.add(line)
        kind, *columns = line.split(", ")
        if kind != "p":
            raise PolicyFileError(f"{where}: a line must start with 'p, ', not with {kind[:20]!r}")
        yield where, columns


def as_csv(rules: Iterable[Rule]) -> str:
    """Return ``rules`` as the text of a policy file, for this reader and for any Casbin."""
    return "".join(f"{rule}\n" for rule in rules)
