"""Effects of other codes of a role, other roles of a user, or other codes of a resource."""

from collections.abc import Collection
from dataclasses import dataclass
from operator import attrgetter

from service.authz.engine.paths import registered_fault
from service.authz.engine.policy import Policy
from service.authz.engine.rules import (
    ANYONE,
    ASSURANCE,
    LOGIN,
    METHODS,
    NOBODY,
    RESOURCE,
    PolicyError,
    assured,
)
from service.errors import ValidationFailed
from service.features.explain.sentences import sentence
from service.kernel.coded_sentences import Sentence
from service.kernel.codes import is_code
from service.kernel.services import PORTCULLIS, split_object
from service.laboratory.analysis.comparison import compared
from service.laboratory.analysis.demands import least_words
from service.laboratory.analysis.impact import Differences, Roles, Standing, differences


def if_role_gave(
    standing: Standing, role_code: str, without: Collection[str] = (), with_: Collection[str] = ()
) -> Differences:
    """Return the access gained and lost; raises ValidationFailed for an unknown role or code."""
    given = standing.codes.get(role_code)
    if given is None:
        raise ValidationFailed(("roleCode", sentence("no_such_role")))
    faults = [("without", sentence("role_without_code", code=code)) for code in without if code not in given]
    _require_change([*faults, *_no_codes(with_)], without, with_)
    codes = tuple(sorted({*given, *with_} - set(without)))
    after = Standing(standing.policy, {**standing.codes, role_code: codes}, standing.users)
    return differences(standing, after)


def if_user_had(
    standing: Standing, had: Roles, without: Collection[str] = (), with_: Collection[str] = ()
) -> Differences:
    """Return the access that a user with the roles ``had`` gains and loses, as if active.

    Raises ValidationFailed for an unknown role, and for a removed role that the user does not have.
    """
    faults = [("without", sentence("user_without_role", role=role)) for role in without if role not in had]
    faults += [
        ("with", sentence("role_does_not_exist", role=repr(role[:64])))
        for role in with_
        if role not in standing.codes
    ]
    _require_change(faults, without, with_)
    has = tuple(sorted({*had, *with_} - set(without)))
    return differences(*(Standing(standing.policy, standing.codes, {roles: 1}) for roles in (had, has)))


@dataclass(frozen=True, slots=True)
class DemandChange:
    """The authentication demand of a request, before and after: the weakest alternatives."""

    object: str
    before: tuple[str, ...]
    after: tuple[str, ...]


def demand_changes(before: Policy, after: Policy) -> list[DemandChange]:
    """Return requests that both policies allow, with their different authentication demands, by name."""
    changes = []
    for alike in compared(before, after):
        if alike.demands is not None:
            words = [least_words(*each) for each in zip((before, after), alike.demands, strict=True)]
            changes += [DemandChange(name, *words) for name in alike.names if words[0] != words[1]]
    return sorted(changes, key=attrgetter("object"))


def with_resource(
    policy: Policy,
    name: str,
    without: Collection[str] = (),
    with_: Collection[str] = (),
    words: tuple[str, ...] = (),
) -> Policy:
    """Return ``policy`` as if other codes opened a resource, registered if necessary.

    ``name`` is ``GET /api/user/{id}``, or ``orders GET /orders/{id}`` of another service. Its public access
    remains. ``words`` are the new authentication demand; without any, the current demand, or none for a new
    resource. Raises ValidationFailed for an invalid resource, and for a removed code that is not bound.
    """
    _require_resource(policy, name)
    stored = policy.rules.codes(RESOURCE, name)
    bound = [code for code in stored if is_code(code)]
    faults = [
        ("without", sentence("code_not_of_resource", code=code)) for code in without if code not in bound
    ]
    _require_change([*faults, *_no_codes(with_)], without, [*with_, *words])
    codes = {*bound, *with_} - set(without)
    if split_object(name)[0] != PORTCULLIS:
        codes |= {word for word in stored if not is_code(word) and word != NOBODY}
    closed = LOGIN if split_object(name)[0] == PORTCULLIS else NOBODY
    demand = assured(RESOURCE, name)
    words = words or policy.rules.codes(ASSURANCE, demand) or (ANYONE,)
    lines = {(RESOURCE, name): tuple(sorted(codes)) or (closed,), (ASSURANCE, demand): words}
    try:
        return Policy(
            policy.model_text,
            policy.rules.changed(lines),
            revision=policy.revision,
            own=policy.own,
            like=policy,
            absent=policy.absent,
        )
    except PolicyError as error:  # another resource has the same requests
        raise ValidationFailed(("resource", sentence("policy_fault", fault=error.stated))) from None


def _require_resource(policy: Policy, name: str) -> None:
    service, request = split_object(name)
    method, _, path = request.partition(" ")
    if policy.service(service) is None:
        raise ValidationFailed(("resource", sentence("no_such_service")))
    if method not in METHODS:
        raise ValidationFailed(("resource", sentence("method_and_path", example="GET /api/user/{id}")))
    if fault := registered_fault(path, may_end_in_slash=service != PORTCULLIS):
        raise ValidationFailed(("resource", fault))


def _no_codes(given: Collection[str]) -> list[tuple[str, Sentence]]:
    return [
        ("with", sentence("text_is_no_code", code=repr(code[:20]))) for code in given if not is_code(code)
    ]


def _require_change(
    faults: list[tuple[str, Sentence]], without: Collection[str], with_: Collection[str]
) -> None:
    if not without and not with_:
        faults.append(("without", sentence("nothing_changed")))
    if faults:
        raise ValidationFailed(*faults)
