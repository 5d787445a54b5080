"""Names in questions of AuthZEN Authorization API 1.0, and their mapping to the enforcer."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
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

if TYPE_CHECKING:  # a follower uses this module without the stores
    from service.authn.authenticate import Authenticator
    from service.authn.current_rights import CurrentRights, Who

USER: Final = "user"
"""The type of a subject identified by its user name."""
IDENTITY: Final = "identity"
"""The type of a subject identified by its login id, the ``sub`` of its tokens."""
TOKEN: Final = "token"  # noqa: S105 - a word, no token
"""The type of a subject identified by an access token."""
ROUTE: Final = "route"
"""The type of a resource that is a path or a path template; the action is the method."""
PERMISSION: Final = "permission"
"""The type of a resource that is a permission code; the action is ignored."""

USE: Final = "use"
"""The action that a search returns for a permission code."""


class Subject(Struct, frozen=True):
    """The subject of a question; the id of a token is secret."""

    type: str
    id: str

    def __repr__(self) -> str:
        return f"Subject({self.type!r}, …)"


class Resource(Struct, frozen=True):
    """The resource of a question; ``service`` is the service in ``properties``, or None."""

    type: str
    id: str
    service: str | None = None


class Asked(Struct, frozen=True):
    """One question."""

    subject: Subject
    action: str
    resource: Resource


Act: TypeAlias = tuple[str, str, str, str | None]
"""An action, and the type, the id and the ``service`` of the resource.

A plain tuple, because a request has a thousand of them and answers are cached by it.
"""


def action_and_resource(act: Act) -> tuple[str, Resource]:
    action, kind, id_, service = act
    return action, Resource(kind, id_, service)


def named_service(properties: Mapping[str, Any]) -> str | None:
    """Return the service named by the properties of a resource; "" for an invalid value."""
    service = properties.get("service")
    if service is None or isinstance(service, str):
        return service
    return ""


_PART: Final = re.compile(r"[a-z0-9_-]+")


def question_of(action: str, resource: Resource, bound_to: str | None) -> Question | Unanswerable:
    """Return the enforcer's question for an account bound to the service ``bound_to``, or to none.

    A route belongs to the named service, else to the account's service, else to this service.
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
    """Return the service of a route: the named one, else the account's, else this service."""
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
    """Return the question of the account ``asking``; a denial if it is not answerable or not permitted."""
    question = question_of(action, resource, asking.service)
    if isinstance(question, str):
        return Answer(False, question)
    about = where(asking.service, service_asked(question))
    decision = policy.decide(rules.ACCOUNT, f"evaluate {about}", asking)
    return question if decision.allowed else Answer(False, "other_service", decision)


def service_asked(question: Question) -> str:
    """Return the service of a question, or "" for none; a code belongs to the service of its first part."""
    if isinstance(question, UseOf):
        first, more, _ = question.code.partition(":")
        return first if more else ""
    return question.service


NOT_ACTIVE = Answer(False, "subject_not_active")
INCOMPLETE = Answer(False, "incomplete")

SUBJECT_TYPES: Final = (USER, IDENTITY, TOKEN)
"""The supported types of subjects."""

LOGIN_ID: Final = re.compile(r"[1-9][0-9]{0,17}")
_LONGEST_NAME: Final = 256  # characters; valid names are shorter in every folding
_REFUSED: Final = (TokenInvalid, TokenExpired, RefreshRequired, AccountBanned)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Subjects:
    """Finds the callers of subjects."""

    current: CurrentRights
    authenticator: Authenticator

    async def callers(
        self,
        subjects: Collection[Subject],
        permission_map: PermissionMap,
        all_rights: bytes | None = None,
    ) -> dict[Subject, Caller]:
        """Return the caller of each subject that may log in now.

        Unknown, disabled or banned subjects, invalid or revoked tokens, and subjects of other types have no
        caller. A token has its own rights, decoded by ``permission_map``. An API key has the rights of its
        account within its scopes. ``all_rights`` as for ``CurrentRights``. Raises ``Unavailable``.
        """
        users = {subject: who for subject in subjects if (who := _user(subject)) is not None}
        known = await self.current.of(set(users.values()), all_rights) if users else {}
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
        """Return the caller of one subject as ``callers`` does; None if it has no caller."""
        if subject.type == TOKEN:
            return await self._of_token(subject.id, permission_map)
        who = _user(subject)
        if who is None:
            return None
        known = self.current.remembered(who, all_rights)
        return known or (await self.current.of((who,), all_rights)).get(who)

    async def _of_token(self, token: str, permission_map: PermissionMap) -> Caller | None:
        try:
            return (await self.authenticator.checked(token, permission_map)).caller
        except _REFUSED:
            return None


def _user(subject: Subject) -> Who | None:
    if subject.type == IDENTITY:
        return int(subject.id) if LOGIN_ID.fullmatch(subject.id) else None
    if subject.type == USER and len(subject.id) <= _LONGEST_NAME and "\0" not in subject.id:
        return name_key(subject.id)
    return None
