"""From the subjects of questions to callers with their current rights."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from service.authn.authenticate import Authenticator
from service.authn.current_rights import CurrentRights, Who
from service.errors import AccountBanned, RefreshRequired, TokenExpired, TokenInvalid
from service.evaluation.questions import IDENTITY, TOKEN, USER, Subject
from service.kernel.codes import PermissionMap
from service.kernel.cooperative_yield import CooperativeYield
from service.kernel.identity import Caller
from service.kernel.text import name_key

SUBJECT_TYPES: Final = (USER, IDENTITY, TOKEN)
"""The types of subjects that are known."""

_LOGIN_ID: Final = re.compile(r"[1-9][0-9]{0,17}")
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

    async def _of_token(self, token: str, permission_map: PermissionMap) -> Caller | None:
        try:
            return (await self._authenticator.checked(token, permission_map)).caller
        except _REFUSED:
            return None


def _user(subject: Subject) -> Who | None:
    if subject.type == IDENTITY:
        return int(subject.id) if _LOGIN_ID.fullmatch(subject.id) else None
    if subject.type == USER and len(subject.id) <= _LONGEST_NAME and "\0" not in subject.id:
        return name_key(subject.id)
    return None
