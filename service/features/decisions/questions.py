"""What questions name, as AuthZEN Authorization API 1.0 says it, and what the enforcer is asked for it."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from msgspec import Struct

from service.authz.engine import rules
from service.authz.engine.paths import (
    canonical,
    canonical_external_path,
    registered_fault,
    shape,
)
from service.authz.engine.policy import Policy
from service.errors import AccountBanned, BadRequest, RefreshRequired, TokenExpired, TokenInvalid
from service.kernel.account_acts import where
from service.kernel.codes import is_code
from service.kernel.cooperative_yield import CooperativeYield
from service.kernel.identity import Caller
from service.kernel.permission_map import PermissionMap
from service.kernel.services import NAME, PORTCULLIS
from service.kernel.text import name_key
from service.kernel.value_rules import MAX_REGISTERED_PATH
from service.laboratory.analysis.answers import Answer, Question, RequestsTo, RequestTo, Unanswerable, UseOf

if TYPE_CHECKING:  # a follower asks the same, and has neither of these with the stores behind them
    from service.authn.authenticate import Authenticator
    from service.authn.current_rights import CurrentRights, Who

USER: Final = "user"
"""The type of a subject that is named by its user name."""
IDENTITY: Final = "identity"
"""The type of a subject that is named by its login id: the ``sub`` of its tokens."""
TOKEN: Final = "token"  # noqa: S105 - a word, no token
"""The type of a subject that is named by an access token."""
ROUTE: Final = "route"
"""The type of a resource that is a path, or a template of paths; its action is the method."""
PERMISSION: Final = "permission"
"""The type of a resource that is a permission code; the action counts for nothing."""

USE: Final = "use"
"""The action that a search finds for a permission code."""


class Subject(Struct, frozen=True):
    """Who would act; the id of a token is secret."""

    type: str
    id: str

    def __repr__(self) -> str:
        return f"Subject({self.type!r}, …)"


class Resource(Struct, frozen=True):
    """What would be acted on. ``service`` is the one that ``properties`` name; None if they name none."""

    type: str
    id: str
    service: str | None = None


class Asked(Struct, frozen=True):
    """One question."""

    subject: Subject
    action: str
    resource: Resource


Act: TypeAlias = tuple[str, str, str, str | None]
"""What a subject would do: the action, and the type, the id and the ``service`` of the resource.

A plain tuple: a request has a thousand of them, and answers are found by it.
"""


def asked_of(act: Act) -> tuple[str, Resource]:
    """Return the action and the resource of ``act``."""
    action, kind, id_, service = act
    return action, Resource(kind, id_, service)


def named_service(properties: Mapping[str, Any]) -> str | None:
    """Return the service that the properties of a resource name; "" for one that can't be a name."""
    service = properties.get("service")
    if service is None or isinstance(service, str):
        return service
    return ""


_PART: Final = re.compile(r"[a-z0-9_-]+")


def question_of(action: str, resource: Resource, bound_to: str | None) -> Question | Unanswerable:
    """Return what is asked by an account that is bound to the service ``bound_to``, or to none.

    A route is of the service that it names, else of that of the account, else of this one.
    """
    if resource.type == ROUTE:
        return _route(action, resource, bound_to)
    parts = resource.id if resource.type == PERMISSION else _joined(resource.type, resource.id, action)
    if parts is None or not is_code(parts):
        return "no_code"
    return UseOf(parts)


def _joined(*parts: str) -> str | None:
    return ":".join(parts) if all(map(_PART.fullmatch, parts)) else None


def service_of(resource: Resource, bound_to: str | None) -> str:
    """Return the service of a route: the one that it names, else that of the account, else this one."""
    return resource.service or bound_to or PORTCULLIS


def _route(method: str, resource: Resource, bound_to: str | None) -> Question | Unanswerable:
    service = service_of(resource, bound_to)
    if resource.service == "" or NAME.fullmatch(service) is None:
        return "unknown_service"
    external, path = service != PORTCULLIS, resource.id
    if "{" in path and len(path) <= MAX_REGISTERED_PATH:
        if registered_fault(path, may_end_in_slash=external) is None and shape(path) != path:
            return RequestsTo(service, method, path)
        return "not_canonical"
    try:
        return RequestTo(service, method, (canonical_external_path if external else canonical)(path))
    except BadRequest:
        return "not_canonical"


def question_by(policy: Policy, asking: Caller, action: str, resource: Resource) -> Question | Answer:
    """Return what the account ``asking`` asks; the answer no for what it can't or may not ask."""
    question = question_of(action, resource, asking.service)
    if isinstance(question, str):
        return Answer(False, question)
    about = where(asking.service, service_asked(question))
    decision = policy.decide(rules.ACCOUNT, f"evaluate {about}", asking)
    return question if decision.allowed else Answer(False, "other_service", decision)


def service_asked(question: Question) -> str:
    """Return the service that a question is about, "" for none: a code is of the one that it begins with."""
    if isinstance(question, UseOf):
        first, more, _ = question.code.partition(":")
        return first if more else ""
    return question.service


NOT_ACTIVE = Answer(False, "subject_not_active")
INCOMPLETE = Answer(False, "incomplete")

SUBJECT_TYPES: Final = (USER, IDENTITY, TOKEN)
"""The types of subjects that are known."""

LOGIN_ID: Final = re.compile(r"[1-9][0-9]{0,17}")
_LONGEST_NAME: Final = 256  # characters: names that fit are shorter, whatever they fold to
_REFUSED: Final = (TokenInvalid, TokenExpired, RefreshRequired, AccountBanned)


class Subjects:
    """Finds the callers whom subjects name."""

    def __init__(self, current: CurrentRights, authenticator: Authenticator) -> None:
        self._current = current
        self._authenticator = authenticator

    async def callers(
        self,
        subjects: Collection[Subject],
        permission_map: PermissionMap,
        all_rights: bytes | None = None,
    ) -> dict[Subject, Caller]:
        """Return the caller of each subject that may log in at this moment.

        Subjects that are unknown, disabled or banned, tokens that are not valid or were revoked, and subjects
        of other types have none. A token has the rights that it carries, decoded by ``permission_map``, an
        API key those of its account within its scopes. ``all_rights`` as for ``CurrentRights``. Raises
        ``Unavailable``.
        """
        users = {subject: who for subject in subjects if (who := _user(subject)) is not None}
        known = await self._current.of(set(users.values()), all_rights) if users else {}
        known_callers = {subject: known[who] for subject, who in users.items() if who in known}
        work = CooperativeYield()
        for subject in subjects:
            if subject.type == TOKEN:
                if (caller := await self._of_token(subject.id, permission_map)) is not None:
                    known_callers[subject] = caller
                await work.after_item()
        return known_callers

    async def caller(
        self, subject: Subject, permission_map: PermissionMap, all_rights: bytes | None = None
    ) -> Caller | None:
        """Return the caller of one subject as ``callers`` does; None for one that has none."""
        if subject.type == TOKEN:
            return await self._of_token(subject.id, permission_map)
        who = _user(subject)
        if who is None:
            return None
        known = self._current.remembered(who, all_rights)
        return known or (await self._current.of((who,), all_rights)).get(who)

    async def _of_token(self, token: str, permission_map: PermissionMap) -> Caller | None:
        try:
            return (await self._authenticator.checked(token, permission_map)).caller
        except _REFUSED:
            return None


def _user(subject: Subject) -> Who | None:
    if subject.type == IDENTITY:
        return int(subject.id) if LOGIN_ID.fullmatch(subject.id) else None
    if subject.type == USER and len(subject.id) <= _LONGEST_NAME and "\0" not in subject.id:
        return name_key(subject.id)
    return None
