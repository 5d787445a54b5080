"""Decision tables: callers, questions and the lines that must decide. ``policies/README.md`` has the form."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Literal, cast

import msgspec

from service.authz.engine.external_routes import ExternalRoutes
from service.authz.engine.lines import Lines
from service.authz.engine.paths import canonical, canonical_external_path
from service.authz.engine.policy import is_registered
from service.authz.engine.resource_index import ResourceIndex
from service.authz.engine.rules import (
    ANYONE,
    ASSURANCE,
    ENDPOINT,
    NO_SESSION,
    RESOURCE,
    UNREGISTERED,
    LayerName,
    PolicyError,
    PolicyFileError,
    Rule,
    assured,
)
from service.authz.publishing.contributions import contributions
from service.authz.publishing.demand_table import LEVELS
from service.authz.publishing.derive import derive
from service.authz.publishing.shipped import Shipped
from service.errors import BadRequest
from service.kernel import request_objects
from service.kernel.assurance import BY_STRONGEST, Demand, Satisfied, words_of
from service.kernel.codes import (
    BY_AGENT,
    BY_APPROVAL,
    BY_DELEGATION,
    BY_KEY,
    Ceiling,
    HeldCodes,
    bounded,
    is_code,
)
from service.kernel.feature import about_any
from service.kernel.request_objects import PublishedRule
from service.kernel.services import (
    NO_DEMAND,
    PORTCULLIS,
    BoundResource,
    PublishedOpening,
    Service,
    split_object,
)
from service.laboratory.analysis.explain import Reason
from service.laboratory.strict_yaml import OWN, Document, YamlError, document_of, read_within
from service.settings.sections.policy import Demands


class _Strict(msgspec.Struct, forbid_unknown_fields=True):
    pass


class Disabled(_Strict):
    """The code of a disabled Button."""

    disabled: str


class Asks(_Strict):
    """A question to one layer: about an object, each of several, or a request that the layer resolves.

    In the layer ``assurance`` also about each object that ``demanded`` lists under a ``demand``.
    """

    layer: LayerName
    object: str | list[str] = ""
    request: str = ""
    demand: str = ""


class Case(_Strict):
    """A question and its correct answer.

    ``caller`` names one caller, or several with the same answer. ``asks`` is a request such as ``GET
    /api/user/7``, which both layers judge, or one question. ``layer`` decides. The allowing line is ``line``,
    or the line of the object with ``code``. ``through`` is the line by which the resource layer let the
    request pass. A denial has ``required``, the codes that would each suffice, and optionally its ``reason``.
    """

    caller: str | list[str]
    asks: str | Asks
    outcome: Literal["allow", "deny"]
    layer: LayerName
    line: str | None = None
    through: str | None = None
    required: list[str] | None = None
    reason: Reason | None = None
    code: str | None = None


class Router(_Strict):
    """The request matching of another service's router."""

    ignore_case: bool = False
    ignore_trailing_slash: bool = False
    allow_preflight: bool = False


class Demanded(_Strict):
    """The demanded authentication of persons for a resource, and whether service accounts pass."""

    assurance: Demand
    services: bool = False


class DemandedOf(_Strict):
    """The names of the demands on ``objects``, for each value of ``policy.assurance``.

    ``others`` are methods: each endpoint with such a method gets the demands if no group lists the endpoint.
    """

    base: str
    administrators: str
    everybody: str
    objects: list[str]
    others: list[Literal["GET", "POST", "PUT", "PATCH", "DELETE"]] = []

    def at(self, level: Demands) -> str:
        """Return the name of the demand at ``level``."""
        return cast("str", getattr(self, level))


class Stage(_Strict):
    """Holders of ``code`` approve: so many different people."""

    code: str
    approvals: int = 1


class Requestable(_Strict):
    """The request rule of a role: the required code, the demanded authentication, and the approvers."""

    by: str
    stages: list[Stage]
    assurance: Demand | None = None
    grant_needed: bool = True
    emergency: bool = False


class Bounded(_Strict):
    """A person within ceilings: an own API key, or an agent that acts for the person.

    ``holds`` are the codes of the person, ``key`` the scopes of the key, ``agent`` and ``delegation`` the
    codes of both, and ``approval`` codes of the delegation of which each use needs an approval.
    """

    holds: list[str]
    key: list[str] | None = None
    agent: list[str] | None = None
    delegation: list[str] | None = None
    approval: list[str] | None = None

    @property
    def ceilings(self) -> list[Ceiling]:
        """The ceilings, in the order in which the service asks them."""
        codes = (BY_KEY, self.key), (BY_AGENT, self.agent), (BY_DELEGATION, self.delegation)
        named = (*codes, (BY_APPROVAL, self.approval))
        return [Ceiling(by, frozenset(held)) for by, held in named if held is not None]


class TableFile(_Strict):
    """A file of cases, with registered objects and the codes of Buttons.

    ``services`` are other services; ``openings`` has the word that opens one of their objects. ``demands``
    apply to registered resources. ``requestable`` has the requestable roles. ``demanded`` has the objects of
    questions about a demand. Features add their own keys, for their policy lines. A caller of the layer
    ``assurance`` is written as the strongest word that it satisfies.
    """

    callers: dict[str, list[str] | str | Bounded | None]
    cases: list[Case]
    registered: dict[str, list[str | Disabled]] = {}
    codes: list[str | Disabled] = []
    services: dict[str, Router] = {}
    openings: dict[str, Literal["@login", "@anyone"]] = {}
    demands: dict[str, Demanded] = {}
    requestable: dict[str, Requestable] = {}
    demanded: list[DemandedOf] = []

    @property
    def contributed(self) -> dict[str, list[str]]:
        """Return the input for lines of features, by word."""
        return {each.word: getattr(self, each.word, []) for each in contributions()}


@cache
def file_kind() -> type[TableFile]:
    """Return the kind of files of cases: ``TableFile`` with the words of features."""
    words = [(each.word, list[str], msgspec.field(default_factory=list[str])) for each in contributions()]
    made = msgspec.defstruct("TableFile", words, bases=(TableFile,), module=__name__)
    return cast("type[TableFile]", made)


@dataclass(frozen=True, slots=True)
class Question:
    """One question to the enforcer; ``held`` is None for a caller without a session.

    In the layer ``assurance``, ``held`` has the words that the caller satisfies.
    """

    layer: str
    object: str
    held: HeldCodes | Satisfied | None


@dataclass(frozen=True, slots=True)
class Asked:
    """A case for one of its callers: the questions in order, until one is denied.

    ``place`` is file and line of the case, ``number`` its number in the file, from 1.
    """

    place: str
    number: int
    caller: str
    case: Case
    questions: tuple[Question, ...]

    def __str__(self) -> str:
        asks = self.case.asks
        if isinstance(asks, str):
            return f"{self.caller} asks {asks}"
        return f"{self.caller} asks {asks.request or self.questions[0].object} in the layer {asks.layer}"


@dataclass(frozen=True, slots=True)
class Table:
    """A decision table, ready to be asked; ``rules`` are all lines of its policy."""

    path: Path
    rules: Lines
    asked: tuple[Asked, ...]


def table_files(paths: Iterable[Path]) -> list[Path]:
    """Return the files in ``paths``, in order; a folder stands for its ``*.yaml``, sorted.

    Raises PolicyError for a path that does not exist, and for a folder without tables.
    """
    listed: list[Path] = []
    for path in paths:
        files = sorted(path.glob("*.yaml")) if path.is_dir() else [path]
        if path.is_dir() and (unread := sorted(path.glob("*.yml"))):
            raise PolicyFileError(
                *(f"{other}: unknown file: decision tables end in .yaml" for other in unread)
            )
        if not files or not files[0].exists():
            raise PolicyFileError(f"{path}: there are no decision tables")
        listed += files
    return listed


def read_tables(paths: Iterable[Path], own: Shipped) -> tuple[Table, ...]:
    """Read the tables of ``paths``, files or folders, for the static policy ``own``.

    Raises PolicyError with file, line and reason of every fault: a file that is no table, an unknown caller,
    invalid codes and requests.
    """
    endpoints = ResourceIndex(set(own.routes))
    tables: list[Table] = []
    faults: list[str] = []
    for path in table_files(paths):
        try:
            tables.append(_table(_document(path, read_within(path, OWN.size)), own, endpoints))
        except (YamlError, PolicyError) as error:
            faults += error.faults
    if faults:
        raise PolicyFileError(*faults)
    return tuple(tables)


@lru_cache(maxsize=128)
def _document(path: Path, raw: bytes) -> Document[TableFile]:
    """Return a file of cases; cached, since the lint reads most of them once for each level."""
    return document_of(path, raw, file_kind())


def table_of(read: Document[TableFile], own: Shipped) -> Table:
    """Return the table of a file; raises PolicyError with the reason of every fault."""
    return _table(read, own, ResourceIndex(set(own.routes)))


def _table(read: Document[TableFile], own: Shipped, endpoints: ResourceIndex) -> Table:
    file = read.value
    faults = [
        f"{read.place('callers', name)}: {code!r} is no permission code"
        for name, codes in file.callers.items()
        for code in _codes(codes)
        if not is_code(code)
    ]
    faults += [
        f"{read.place('callers', name)}: {words!r} is not a word about authentication"
        for name, words in file.callers.items()
        if isinstance(words, str) and words not in BY_STRONGEST
    ]
    faults += [
        f"{read.place('demands', name)}: {name!r} is not registered"
        for name in file.demands.keys() - file.registered.keys()
    ]
    if not file.cases:
        faults.append(f"{read.path}: the table has no cases")
    faults += _demanded_faults(read)
    demanded = _demanded(file, own)
    try:
        registered = [_registered(file, name, codes) for name, codes in file.registered.items()]
        buttons = _buttons(file.codes)
        disabled = {code for code, enabled in buttons if not enabled}
        shared = derive(
            registered,
            [code for code, _ in buttons],
            disabled=disabled,
            services=[
                Service(name, **msgspec.structs.asdict(router)) for name, router in file.services.items()
            ],
            openings=[PublishedOpening(*opening) for opening in file.openings.items()],
            requestable=[_requestable(role, rule) for role, rule in file.requestable.items()],
            contributed=file.contributed,
        )
        rules = own.lines.joined(shared)
        resources = ResourceIndex(filter(is_registered, file.registered))
        resolver = _Resolver(rules, resources, ExternalRoutes(rules), endpoints, demanded)
    except PolicyError as error:
        raise PolicyFileError(*faults, *(f"{read.path}: {fault}" for fault in error.faults)) from error
    asked: list[Asked] = []
    for number, case in enumerate(file.cases):
        place = read.place("cases", number)
        try:
            asked += (
                each
                for each in _asked(place, number + 1, case, file.callers, resolver)
                if not _is_off(own, each)
            )
        except PolicyError as error:
            faults += [f"{place}: {fault}" for fault in error.faults]
    if faults:
        raise PolicyFileError(*faults)
    return Table(read.path, rules, tuple(asked))


def _demanded_faults(read: Document[TableFile]) -> Iterator[str]:
    """Yield demands without a case, which would be untested, and repeated objects."""
    asked = {case.asks.demand for case in read.value.cases if isinstance(case.asks, Asks)}
    seen: set[str] = set()
    for at, group in enumerate(read.value.demanded):
        for number, method in enumerate(group.others):
            if method in seen:
                yield f"{read.place('demanded', at, 'others', number)}: {method} is listed already"
            seen.add(method)
        for level in LEVELS:
            if group.at(level) not in asked:
                name = group.at(level)
                yield f"{read.place('demanded', at, level)}: no case asks about the demand {name!r}"
        for number, name in enumerate(group.objects):
            if name in seen:
                yield f"{read.place('demanded', at, 'objects', number)}: {name} is listed already"
            seen.add(name)


def _demanded(file: TableFile, own: Shipped) -> dict[str, list[str]]:
    """Return the objects of each demand at the level of ``own``; a demand of another level has none.

    The endpoints come from the lines of the layer ``endpoint``, never from the demands.
    """
    if not file.demanded:
        return {}
    listed = {name for group in file.demanded for name in group.objects}
    others = [name for name in _own_endpoints(own) if name not in listed]
    objects: dict[str, list[str]] = {group.at(level): [] for group in file.demanded for level in LEVELS}
    for group in file.demanded:
        objects[group.at(own.level)] += group.objects
        objects[group.at(own.level)] += (name for name in others if name.split(" ")[1] in group.others)
    return objects


def _own_endpoints(own: Shipped) -> Iterator[str]:
    """Yield the endpoints of this service, without extensions, as objects of the layer ``assurance``."""
    for route in dict.fromkeys(own.routes):
        if not any(extension.owns_path(route.partition(" ")[2]) for extension in own.extensions):
            yield assured(ENDPOINT, route)


def _is_off(own: Shipped, asked: Asked) -> bool:
    """Return whether a case is about a feature that is off.

    The path counts too: otherwise a request to ``/api/user/export`` would match ``/api/user/{id}``.
    """
    if not own.off:
        return False
    asks = [asked.case.asks] if isinstance(asked.case.asks, str) else []
    return any(about_any(own.off, text) for text in (*asks, *(each.object for each in asked.questions)))


def _registered(file: TableFile, name: str, codes: list[str | Disabled]) -> BoundResource:
    service, route = split_object(name)
    method, _, path = route.partition(" ")
    demand = file.demands.get(name)
    words = NO_DEMAND if demand is None else words_of(demand.assurance, services=demand.services)
    return BoundResource(method, path, _buttons(codes), service, words)


def _requestable(role_code: str, rule: Requestable) -> PublishedRule:
    stages = [request_objects.Stage(stage.code, stage.approvals) for stage in rule.stages]
    demand = words_of(rule.assurance, services=False)
    return PublishedRule(role_code, rule.by, stages, demand, rule.grant_needed, rule.emergency)


def _buttons(codes: list[str | Disabled]) -> list[tuple[str, bool]]:
    return [(code, True) if isinstance(code, str) else (code.disabled, False) for code in codes]


def _asked(
    place: str,
    number: int,
    case: Case,
    callers: Mapping[str, list[str] | str | Bounded | None],
    resolver: _Resolver,
) -> Iterator[Asked]:
    if (case.outcome == "deny") is (case.required is None):
        raise PolicyFileError("a denied case must have 'required', and an allowed case must not")
    if case.code is not None and (case.line is not None or case.outcome == "deny"):
        raise PolicyFileError("an allowed case names either a line or its code; a denied one names neither")
    for name in [case.caller] if isinstance(case.caller, str) else case.caller:
        if name not in callers:
            raise PolicyFileError(f"the table has no caller {name!r}")
        held = _caller(callers[name])
        about = isinstance(case.asks, Asks) and case.asks.layer == ASSURANCE
        if held is not None and isinstance(held, Satisfied) is not about:
            raise PolicyFileError(f"the caller {name!r} is none of the layer that is asked")
        for questions in resolver.questions(case.asks, held):
            yield Asked(place, number, name, _with_line(case, questions[-1]), questions)


def _codes(caller: list[str] | str | Bounded | None) -> list[str]:
    """Return the codes of a caller; none for a visitor, and for words about authentication."""
    if isinstance(caller, Bounded):
        return [*caller.holds, *(code for ceiling in caller.ceilings for code in ceiling.codes)]
    return caller if isinstance(caller, list) else []


def _caller(codes: list[str] | str | Bounded | None) -> HeldCodes | Satisfied | None:
    if codes is None:
        return None
    if isinstance(codes, Bounded):
        return bounded(codes.holds, codes.ceilings)
    return BY_STRONGEST[codes] if isinstance(codes, str) else HeldCodes(codes)


def _with_line(case: Case, last: Question) -> Case:
    if case.code is None:
        return case
    return msgspec.structs.replace(case, line=str(Rule(last.layer, last.object, case.code)))


@dataclass(frozen=True, slots=True)
class _Resolver:
    """Turns the question of a case into questions to layers, like the authorization guard with a request."""

    rules: Lines
    resources: ResourceIndex
    external: ExternalRoutes
    endpoints: ResourceIndex
    demanded: Mapping[str, list[str]]

    def questions(
        self, asks: str | Asks, held: HeldCodes | Satisfied | None
    ) -> Iterator[tuple[Question, ...]]:
        """Yield the questions of each object or request of a case, in the order of the layers."""
        if isinstance(asks, Asks):
            for name in self._named(asks):
                yield (self._one(asks, name, held),)
            return
        service, request = split_object(asks)
        if service != PORTCULLIS:
            yield (Question(RESOURCE, self._external(service, request), held),)
            return
        route = self._route(asks)
        # A public route authenticates no caller.
        caller = None if self.rules.codes(ENDPOINT, route) == (ANYONE,) else held
        yield Question(RESOURCE, self._resource(asks, caller), caller), Question(ENDPOINT, route, caller)

    def _named(self, asks: Asks) -> list[str]:
        """Return the objects that a question to one layer names; ``[""]`` for a request."""
        if [bool(asks.object), bool(asks.request), bool(asks.demand)].count(True) != 1:
            raise PolicyFileError(
                "a question is about an object, a request or a demand, and only one of them"
            )
        if not asks.demand:
            return [asks.object] if isinstance(asks.object, str) else asks.object
        if asks.layer != ASSURANCE:
            raise PolicyFileError(f"the layer {asks.layer} is not asked about a demand: {ASSURANCE} is")
        if asks.demand not in self.demanded:
            raise PolicyFileError(f"nothing in 'demanded' has the demand {asks.demand!r}")
        return self.demanded[asks.demand]

    def _one(self, asks: Asks, name: str, held: HeldCodes | Satisfied | None) -> Question:
        if name:
            return Question(asks.layer, name, held)
        if asks.layer not in (RESOURCE, ENDPOINT):
            raise PolicyFileError(f"the layer {asks.layer} is asked about an object, not about a request")
        name = self._route(asks.request) if asks.layer == ENDPOINT else self._resource(asks.request, held)
        return Question(asks.layer, name, held)

    def _external(self, service: str, request: str) -> str:
        return self.external.object_at(service, *_split(request, canonical_external_path))

    def _resource(self, request: str, held: HeldCodes | Satisfied | None) -> str:
        service, route = split_object(request)
        if service != PORTCULLIS:
            return self._external(service, route)
        method, path = _split(request)
        return NO_SESSION if held is None else self.resources.find(method, path) or UNREGISTERED

    def _route(self, request: str) -> str:
        # A request without a matching endpoint line is an object without a line: it is denied.
        return self.endpoints.find(*_split(request)) or request


def _split(request: str, canonical: Callable[[str], str] = canonical) -> tuple[str, str]:
    method, space, path = request.partition(" ")
    try:
        if space and canonical(path) == path:
            return method, path
    except BadRequest as refusal:
        raise PolicyFileError(f"{request!r}: {refusal}") from refusal
    raise PolicyFileError(f"a request is '<method> <canonical path>', not {request!r}")
