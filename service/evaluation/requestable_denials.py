"""Denials that a role would open which the subject may ask for, and the tokens that bind a request to one."""

import base64
import hmac
from collections.abc import Callable
from datetime import datetime
from hashlib import sha256
from typing import Final

import msgspec
from msgspec import Struct

from service.authn.signing_keys import derived_keys
from service.authz.engine.policy import Policy
from service.authz.engine.rules import ACCOUNT, ASSURANCE, REQUEST, assured
from service.authz.review.requestable import RequestableRoles
from service.errors import ExpiredDenial, InvalidDenialBinding
from service.evaluation.answers import Answer, Answers, question_by, service_asked
from service.evaluation.questions import Asked
from service.kernel.account_acts import submitting
from service.kernel.clock import from_seconds
from service.kernel.codes import HeldCodes
from service.kernel.cooperative_yield import CooperativeYield
from service.kernel.identity import Caller, words_asked
from service.kernel.request_objects import ask
from service.settings import Auth

LIFE: Final = 600
"""Seconds for which a denial can be answered with a request."""


class Requestable(Struct, frozen=True):
    """The role that is asked for, and the service that the question was about, "" for none."""

    role_code: str
    service: str


class Binding(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """What a token binds: who was answered, the question by its digest, the decision, and until when.

    ``expires`` is in milliseconds since the epoch.
    """

    caller_id: int
    question_digest: str
    decision_id: str
    expires: int

    @property
    def expires_at(self) -> datetime:
        """When it expires."""
        return from_seconds(self.expires / 1000)


_binding = msgspec.json.Decoder(Binding).decode


class RequestableDenials:
    """Finds the role for a denial, and issues and opens binding tokens."""

    def __init__(
        self, roles: RequestableRoles, answers: Answers, settings: Auth, now: Callable[[], float]
    ) -> None:
        """``now`` returns the time by which tokens expire, in seconds since the epoch."""
        self._roles = roles
        self._answers = answers
        self._keys = derived_keys(settings, b"access request binding")
        self._now = now

    async def role_for(
        self, policy: Policy, asking: Caller, asked: Asked, subject: Caller | None, answer: Answer
    ) -> Requestable | None:
        """Return the role that ``asking`` may ask for in the name of ``subject`` after ``answer``.

        The one with the fewest codes that alone would open the question, then the first by code; None if
        there is none. The subject is a person whom the layer ``request`` lets ask, and proves what is
        demanded for that: by name, no more than a password.
        """
        if answer.allowed or answer.reason != "not_held" or subject is None or subject.kind != "person":
            return None
        question = question_by(policy, asking, asked.action, asked.resource)
        if isinstance(question, Answer):
            return None
        service = service_asked(question)
        name = submitting(asking.service, service, by_person=asking.kind == "person")
        if not policy.decide(ACCOUNT, name, asking).allowed:
            return None
        satisfied = words_asked(subject, self._now())
        given = sorted(await self._roles.open_to(policy, subject), key=lambda each: (len(each[1]), each[0]))
        yielding = CooperativeYield()
        for role_code, more in given:
            held = HeldCodes(subject.held.codes.union(more))
            proved = policy.judge(ASSURANCE, assured(REQUEST, ask(role_code)), satisfied).allowed
            if proved and self._answers.of(policy, question, held, satisfied).allowed:
                return Requestable(role_code, service)
            await yielding.after_item()
        return None

    def bind(self, asking: Caller, question_digest: str, decision_id: str) -> tuple[str, datetime]:
        """Return a token for what ``asking`` was answered, and when it expires."""
        binding = Binding(asking.user_id, question_digest, decision_id, int((self._now() + LIFE) * 1000))
        payload = _encoded(msgspec.json.encode(binding))
        return f"{payload}.{_mac(self._keys[0].key, payload).decode()}", binding.expires_at

    def opened(self, token: str, asking: Caller, question_digest: str, expires_at: datetime) -> str:
        """Return the id of the decision that a token of ``asking`` is about, as issued for the question.

        Raises ``InvalidDenialBinding``, and ``ExpiredDenial`` for one that has expired.
        """
        payload, _, mac = token.partition(".")
        now = self._now()
        keys = [key for key, until in self._keys if now < until]
        if not any(hmac.compare_digest(_mac(key, payload), _bytes(mac)) for key in keys):
            raise InvalidDenialBinding
        binding = _binding(base64.urlsafe_b64decode(payload))
        if (binding.caller_id, binding.question_digest) != (asking.user_id, question_digest):
            raise InvalidDenialBinding
        if binding.expires_at != expires_at:
            raise InvalidDenialBinding
        if binding.expires <= now * 1000:
            raise ExpiredDenial
        return binding.decision_id


def _encoded(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).decode("ascii")


def _mac(key: bytes, payload: str) -> bytes:
    return hmac.digest(key, _bytes(payload), sha256).hex().encode("ascii")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")  # what is no text of ours equals none of ours
