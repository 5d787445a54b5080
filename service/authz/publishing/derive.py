"""Derives the shared lines of a policy from resources, bindings and permission codes.

They are the same for all nodes and are published. The lines of the node's own files are added by each worker.
``covered_by`` asks which codes others cover before such a policy is published.
"""

import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from operator import attrgetter
from types import MappingProxyType
from typing import Final

from service.authz.engine.lines import Lines, Objects, changes
from service.authz.engine.policy import Policy
from service.authz.engine.rules import (
    ALLOW_PREFLIGHT,
    ANYONE,
    APPROVE,
    ASSURANCE,
    COUNTED,
    GRANT,
    IGNORE_CASE,
    IGNORE_TRAILING_SLASH,
    LOGIN,
    NOBODY,
    PERMISSION,
    REQUEST,
    RESOURCE,
    SERVICE,
    UNREGISTERED,
    PolicyError,
    Rule,
    assured,
)
from service.authz.publishing.contributions import contributions
from service.kernel.codes import HeldCodes, is_code
from service.kernel.cooperative_yield import cooperatively, in_parts
from service.kernel.core_sentences import sentence
from service.kernel.request_objects import (
    PublishedRule,
    ask,
    ask_at_once,
    stage_for,
    stage_takes,
    without_grant,
)
from service.kernel.services import (
    ACTIONS,
    NO_DEMAND,
    PORTCULLIS,
    BoundResource,
    PublishedOpening,
    Service,
    is_opening_word,
    object_of,
    split_object,
)

_NOTHING: Final = Lines()


def derive(
    registered: Iterable[BoundResource],
    codes: Iterable[str] = (),
    known: Lines = _NOTHING,
    *,
    disabled: Collection[str] = (),
    services: Iterable[Service] = (),
    openings: Iterable[PublishedOpening] = (),
    requestable: Iterable[PublishedRule] = (),
    contributed: Mapping[str, Iterable[str]] = MappingProxyType({}),
) -> Lines:
    """Return the shared lines: some for each resource, permission code, other service and requestable role.

    ``contributed`` are the sources of the lines of features, by the words of their contributions.

    ``codes`` are those of all Buttons. Each has a line of the layer ``grant``, and a line of the layer
    ``permission`` unless it is in ``disabled``, the codes of disabled Buttons. A resource opens to each code
    of an enabled Button bound to it. Bound to disabled Buttons only, it stays closed (``@nobody``), since it
    has a binding. Without a binding, a resource of this service opens to every login, and a resource of
    another service stays closed; ``openings`` are added to the bindings. The order does not depend on that of
    the arguments. Raises PolicyError for values that cannot be a line. The same for an opening of anything
    else than a resource of another service or its ``@unregistered``. ``known`` are shared lines that were
    derived earlier: they save work and change nothing.
    """
    cached: dict[Sequence[tuple[str, bool]], tuple[str, ...]] = {}
    opened: dict[str, tuple[str, ...]] = {}
    demanded: dict[str, tuple[str, ...]] = {}
    for method, path, buttons, service, demand in cooperatively(registered):
        name, bound = object_of(service, f"{method} {path}"), tuple(buttons)
        demanded[name] = demand
        if not bound:
            opened[name] = (LOGIN,) if service == PORTCULLIS else (NOBODY,)
            continue
        if (line_codes := cached.get(bound)) is None:
            line_codes = cached[bound] = _codes(name, bound)
        opened[name] = line_codes
    others = {other.name: other for other in services}
    _open(opened, openings, others)
    of_services = {name: _words(other) for name, other in others.items()}
    of_services |= {
        f"{name} {action}": tuple(sorted(administering(name, action)))
        for name in others
        for action in ACTIONS
    }
    granted = {code: (code,) for code in codes}
    permitted = {code: line for code, line in granted.items() if code not in disabled}
    asking, approving, asked = _of_requests(requestable)
    derived: Objects = {
        RESOURCE: opened,
        GRANT: granted,
        PERMISSION: permitted,
        SERVICE: of_services,
        ASSURANCE: demands(demanded, others) | asked,
        REQUEST: asking,
        APPROVE: approving,
        **_contributed(contributed),
    }
    return known.changed(changes(known.by_object, derived))


def _contributed(texts: Mapping[str, Iterable[str]]) -> Objects:
    """Return the lines of features that follow from ``texts``, which are given by word."""
    return {each.layer: each.lines(texts.get(each.word, ())) for each in contributions()}


def demands(resources: Mapping[str, tuple[str, ...]], services: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return the words of the lines of the layer ``assurance``, by object.

    ``resources`` are the words demanded for each resource; the unregistered routes of other ``services``
    demand nothing.
    """
    rests = {object_of(name, UNREGISTERED): NO_DEMAND for name in services}
    return {assured(RESOURCE, name): words for name, words in (rests | {**resources}).items()}


_ByObject = dict[str, tuple[str, ...]]


def _of_requests(requestable: Iterable[PublishedRule]) -> tuple[_ByObject, _ByObject, _ByObject]:
    """Return the codes of the objects of the layers ``request`` and ``approve``, and of demands on the first.

    No caller passes an object with a required number of approvals: it is there to be read, sealed and
    compared.
    """
    asking: _ByObject = {}
    approving: _ByObject = {}
    asked: _ByObject = {}
    for rule in sorted(requestable, key=attrgetter("role_code")):
        names = [ask(rule.role_code), *([ask_at_once(rule.role_code)] if rule.emergency else [])]
        asking |= dict.fromkeys(names, (rule.requestable_by,))
        asked |= {assured(REQUEST, name): rule.demand for name in names}
        for number, stage in enumerate(rule.stages, 1):
            approving[stage_for(rule.role_code, number, "others")] = (stage.code,)
            approving[stage_takes(rule.role_code, number, stage.approvals)] = (COUNTED,)
        if not rule.grant_needed:
            approving[without_grant(rule.role_code)] = (LOGIN,)
    return asking, approving, asked


def with_demands(shared: Lines) -> Lines:
    """Return shared lines with those of the layer ``assurance``, if they were published without them.

    A node of a version before that layer knows no demands, and publishes none of these lines. If a demand is
    stored, the database refuses such a publication: see the migration of ``sys.resource.assurance``.
    """
    if shared.objects(ASSURANCE):
        return shared
    services = (name for name in shared.objects(SERVICE) if " " not in name)
    lines = demands(dict.fromkeys(shared.objects(RESOURCE), NO_DEMAND), services)
    return shared.changed({(ASSURANCE, name): codes for name, codes in lines.items()}) if lines else shared


def administering(service: str, action: str) -> tuple[str, str]:
    """Return the codes that let their holders administer another service: all services, or this one."""
    return f"system:resource:{action}", f"service:{service}:{action}"


def _open(
    opened: dict[str, tuple[str, ...]], openings: Iterable[PublishedOpening], services: Collection[str]
) -> None:
    """Add ``openings`` to the codes of resources, and of ``@unregistered`` of ``services``."""
    faults = []
    for name, word in openings:
        service, route = split_object(name)
        if service not in services or not (name in opened or route == UNREGISTERED):
            faults.append(sentence("opening_misplaced", object=repr(name)))
        elif not is_opening_word(word):
            words = {"login": LOGIN, "anyone": ANYONE, "word": repr(word)}
            faults.append(sentence("opening_to_word", object=repr(name), **words))
        else:
            opened[name] = tuple(sorted({*opened.get(name, ()), word} - {NOBODY}))
    if faults:
        raise PolicyError(*faults)


def _words(service: Service) -> tuple[str, ...]:
    """Return the words of the lines of a service: closed to all, and its router's way of reading requests."""
    flags = {
        IGNORE_CASE: service.ignore_case,
        IGNORE_TRAILING_SLASH: service.ignore_trailing_slash,
        ALLOW_PREFLIGHT: service.allow_preflight,
    }
    return tuple(sorted([NOBODY, *(word for word, is_so in flags.items() if is_so)]))


def _codes(name: str, buttons: Sequence[tuple[str, bool]]) -> tuple[str, ...]:
    codes = sorted({code for code, enabled in buttons if enabled})
    for code in codes:
        # A word such as @anyone is valid in a line, but administrators must not set it by a Button.
        if not is_code(code):
            raise PolicyError(sentence("resource_without_code", object=repr(name), code=repr(code)))
    return tuple(codes) or (NOBODY,)


def digest_of(shared: Lines, bits: Mapping[str, int]) -> str:
    """Return the SHA-256, in hexadecimal, of the content of a policy revision.

    That is the shared lines in order, an empty line, and the permission map as ``code=bit`` lines by bit.
    Nodes whose own files are equal decide equally by revisions of equal digests.
    """
    digest = hashlib.sha256()
    for layer, objects in shared.by_object.items():
        for part in in_parts(objects.items()):
            text = "".join([f"p, {layer}, {name}, {code}\n" for name, codes in part for code in codes])
            digest.update(text.encode())
    digest.update(b"\n")
    for code, bit in sorted(bits.items(), key=lambda item: item[1]):
        digest.update(f"{code}={bit}\n".encode())
    return digest.hexdigest()


def lines_digest_of(shared: Lines) -> str:
    """Return the SHA-256, in hexadecimal, of the shared lines alone, in an order that SQL can make.

    So kept lines of past revisions, whose permission maps are not kept, can be compared with it; see
    ``history.lines_digest``.
    """
    digest = hashlib.sha256()
    for layer, objects in sorted(shared.by_object.items()):
        for part in in_parts(sorted(objects.items())):
            texts = [
                f"{len(layer)} {len(name)} {len(code)} {layer}{name}{code}"
                for name, codes in part
                for code in sorted(codes)
            ]
            digest.update("".join(texts).encode())
    return digest.hexdigest()


def covered_by(model_text: str) -> Callable[[Collection[str], Sequence[str]], tuple[str, ...]]:
    """Return a function that finds the codes which a holder of other codes may grant, by a linted model.

    ``covered(held, codes)`` asks the enforcer about each of ``codes`` as about the code of a Button.
    """

    @lru_cache(maxsize=1)
    def policy_of(codes: tuple[str, ...]) -> Policy:
        return Policy(model_text, [Rule(GRANT, code, code) for code in codes])

    def covered(held: Collection[str], codes: Sequence[str]) -> tuple[str, ...]:
        policy, holder = policy_of(tuple(codes)), HeldCodes(held)
        return tuple(code for code in codes if policy.judge(GRANT, code, holder).allowed)

    return covered
