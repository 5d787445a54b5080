"""The decision point: answers questions about subjects with the followed data, within the lease."""

import asyncio
import secrets
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from sys import getsizeof
from typing import Final, NamedTuple

from service.authz.engine.policy import Policy
from service.features.decisions.questions import (
    IDENTITY,
    LOGIN_ID,
    NOT_ACTIVE,
    ROUTE,
    TOKEN,
    USER,
    Asked,
    Resource,
    Subject,
    question_by,
    service_asked,
)
from service.features.follower.kept import opened
from service.features.follower.lease import DEFAULT_BOUND, HubTime, Lease, since_boot
from service.features.follower.protocol import Changes, is_visible
from service.features.follower.state import FollowedState
from service.features.follower.token_subjects import TokenSubjects
from service.kernel.assurance import AGES
from service.kernel.identity import Caller
from service.kernel.text import name_key
from service.laboratory.analysis.answers import Answer, Answers, Question, is_short

STALE: Final = Answer(False, "stale")
"""The answer without a lease."""
_OTHER: Final = Answer(False, "other_service")
_MOST_KNOWN: Final = 64 * 1024 * 1024  # maximum bytes of cached answers
_OF_ONE: Final = 200  # bytes of one, without the texts of its question
_LONGEST_NAME: Final = 256
_MOST_MOVED: Final = 0.1  # seconds of change in the hub's time after which cached answers are deleted
_ENDLESS: Final = float("inf")


class AtLeast(NamedTuple):
    """Minimum state for an answer: a policy revision, and the transaction of a write; 0 for any."""

    revision: int = 0
    rights: int = 0


class Evaluated(NamedTuple):
    """An answer, its subject, and its expiry by the hub's time, if nothing changes."""

    answer: Answer
    caller: Caller | None
    until: float


class DecisionPoint:
    """Answers questions with the followed data. For one event loop, or one thread.

    ``may`` and ``evaluate`` are the library; a process serves the same by HTTP. Every answer is based on data
    that was valid at most ``bound`` seconds ago, or is a denial.
    """

    def __init__(
        self,
        services: tuple[str, ...],
        *,
        bound: float = DEFAULT_BOUND,
        last_known: bool = False,
        clock: Callable[[], float] = since_boot,
    ) -> None:
        """Create the point; with ``last_known``, it answers without a lease, marked by ``is_stale``."""
        self.clock = clock
        self.lease = Lease(bound, clock)
        self.time = HubTime(clock)
        self.state = FollowedState(services, secrets.token_bytes(32), self.time.now, clock)
        self.last_known = last_known
        self.service = services[0] if len(services) == 1 else None
        self.applied = 0
        """Number of hub answers that may have changed decisions."""
        self._parts: deque[Changes] = deque()  # incomplete parts, applied with the last part
        self._offset = float("inf")  # of the hub's time when the cache was last emptied
        self._answers = Answers(self.time.now)
        self._tokens = TokenSubjects(self.state, self.lease)
        self._known: dict[str, dict[tuple[str, str], tuple[bool, float]]] = {}
        self._size = 0
        self.asking: Caller | None = None
        """The follower's account, as which questions are asked."""
        self._changed = asyncio.Event()

    @property
    def is_stale(self) -> bool:
        """Return true if there is no lease."""
        return not self.lease.holds()

    def take(self, changes: Changes, sent: float) -> None:
        """Apply the hub's answer to a renewal that was sent at ``sent``, by the clock since boot.

        Parts are collected and applied in one step with the last part, so that a decision never mixes old and
        new data. A failure ends the lease. Raises DivergedError, PolicyError and ValueError.
        """
        if changes.reset:
            self.lease.give_up()
            self._parts.clear()
        self._parts.append(changes)
        self.time.observe(changes.time, sent)
        if abs((self.time.since_boot or 0.0) - self._offset) > _MOST_MOVED:
            self._forget_answers()
        if changes.more:
            return
        parts, self._parts = self._parts, deque()
        news = any(part.has_news for part in parts)
        policy, verifier = self.state.policy, self.state.verifier
        before, numbers = (self.state.account, self.state.acting), self._numbers
        try:
            while parts:
                self.state.apply(parts.popleft())
        except BaseException:
            self.lease.give_up()
            news = True
            raise
        finally:
            if self.state.policy is not policy or self.state.verifier is not verifier:
                self._tokens.forget()
                news = True
            if news or (self.state.account, self.state.acting) != before:
                self._forget_answers()
            self.asking = self._account()
        self.lease.renewed(sent)
        if self._numbers != numbers:
            self._changed.set()
            self._changed = asyncio.Event()

    @property
    def _numbers(self) -> tuple[int, str]:
        """Return the revision and the snapshot that questions can demand."""
        return 0 if self.state.policy is None else self.state.policy.revision, self.state.snapshot

    def _forget_answers(self) -> None:
        """Empty the cache: rules, rights or the clock have changed."""
        self._known.clear()
        self._offset = self.time.since_boot or 0.0
        self.applied += 1

    @property
    def is_reading(self) -> bool:
        """Return true if the hub has more parts of the current data."""
        return bool(self._parts)

    @property
    def position(self) -> str | None:
        """Return the position after the last answer; None for the start."""
        return self._parts[-1].position if self._parts else self.state.position

    def restore(self, content: bytes, seal_key: bytes) -> None:
        """Restore the content of a file sealed with ``seal_key``, without a lease. Raises ValueError."""
        self.state.restore(opened(content, seal_key))
        self._parts.clear()
        self._known.clear()
        self._tokens.forget()
        self.asking = self._account()

    def may(self, user: str, action: str, resource: str) -> bool:
        """Return true if the user with that name may send ``action`` (a method) to the path ``resource``.

        A ``resource`` without a slash is a permission code, and its action is ignored. False without a lease,
        unless ``last_known`` is set.
        """
        now = self.clock()
        if now < self.lease.until:
            known = self._known.get(user)
            if known is not None:
                answer = known.get((action, resource))
                if answer is not None and now < answer[1]:
                    return answer[0]
        return self._may(user, action, resource)

    def _may(self, user: str, action: str, resource: str) -> bool:
        kind = ROUTE if resource[:1] == "/" else "permission"
        asked = Asked(Subject(USER, user), action, Resource(kind, resource, self.service))
        evaluated = self.find(asked)
        if evaluated.answer is not STALE and len(user) <= _LONGEST_NAME and is_short(asked):
            self._size += _OF_ONE + sum(map(getsizeof, (user, action, resource)))
            if self._size > _MOST_KNOWN:
                self._known.clear()
                self._size = 0
            at = self.time.when(evaluated.until)
            self._known.setdefault(user, {})[action, resource] = evaluated.answer.allowed, at
        return evaluated.answer.allowed

    def evaluate(self, asked: Asked) -> Answer:
        """Return the answer to a question; a denial with the reason ``stale`` without a lease."""
        return self.find(asked).answer

    def find(self, asked: Asked) -> Evaluated:
        """Return the answer with its subject, valid until ``until`` by the hub's time."""
        deciding = self.deciding()
        if deciding is None:
            return Evaluated(STALE, None, 0.0)
        policy, asking = deciding
        subject, until = self.caller(asked.subject, self.time.now())
        answer, until = self._answer(policy, asking, asked, subject, until)
        # The lease may have expired meanwhile, because the process may have been stopped.
        if self.deciding() is None:
            return Evaluated(STALE, None, 0.0)
        return Evaluated(answer, subject, until)

    def _answer(
        self, policy: Policy, asking: Caller, asked: Asked, subject: Caller | None, until: float
    ) -> tuple[Answer, float]:
        question = question_by(policy, asking, asked.action, asked.resource)
        if isinstance(question, Answer):
            return question, until
        if service_asked(question) not in self.state.followed.services:
            return _OTHER, until
        if subject is None:
            return NOT_ACTIVE, until
        return self.about(policy, question, subject), min(until, self._next_end(policy, subject))

    def about(self, policy: Policy, question: Question, subject: Caller | None) -> Answer:
        """Return the enforcer's answer about ``subject``; None is an anonymous user."""
        return self._answers.about(policy, question, subject)

    def _next_end(self, policy: Policy, subject: Caller) -> float:
        """Return the time at which lines or the age of the subject's authentication change an answer."""
        now = self.time.now()
        ends = list(policy.ends[policy.passed :][:1])
        if subject.authentication is not None:
            since = subject.authentication.auth_time
            ends += [since + age for age in AGES.values() if since + age > now]
        return min(ends, default=_ENDLESS)

    def deciding(self) -> tuple[Policy, Caller] | None:
        """Return the current policy and the asking account.

        None without a lease, unless ``last_known`` is set. Also None while the hub's time is unknown, or the
        last known data is incomplete.
        """
        if not (self.last_known or self.lease.holds()) or self.time.since_boot is None:
            return None
        if not self.state.complete:
            return None
        policy, asking = self.policy(), self.asking
        return None if policy is None or asking is None else (policy, asking)

    def policy(self) -> Policy | None:
        """Return the current policy; None if none is known."""
        policy = self.state.policy
        if policy is not None and policy.ends:
            policy = self.state.policy = policy.at(self.time.now())
        return policy

    def _account(self) -> Caller | None:
        account = self.state.account
        if account is None:
            return None
        return Caller(
            account.user_id,
            str(account.user_id),
            account.user_name,
            "",
            "",
            (),
            self._tokens.codes(account.codes),
            0.0,
            "service",
            account.service,
        )

    def caller(self, subject: Subject, now: float) -> tuple[Caller | None, float]:
        """Return the caller of a subject, None for an inactive one, and the expiry of this result."""
        if subject.type == TOKEN:
            return self._tokens.caller(subject.id, now)
        user_id: int | None = None
        if subject.type == IDENTITY:
            user_id = int(subject.id) if LOGIN_ID.fullmatch(subject.id) else None
        elif subject.type == USER and len(subject.id) <= _LONGEST_NAME and "\0" not in subject.id:
            user_id = self.state.user_named(name_key(subject.id))
        known = None if user_id is None else self.state.caller(user_id, now)
        if known is not None:
            return known
        user = None if user_id is None else self.state.users.get(user_id)
        return None, _ENDLESS if user is None or user.banned_until <= now else user.banned_until

    def identify(self, token: str) -> Caller | None:
        """Return the caller of an access token or API key; None for a rejected token."""
        return self._tokens.caller(token, self.time.now())[0]

    def has(self, least: AtLeast) -> bool:
        """Return true if the followed data has a revision and a transaction."""
        policy = self.state.policy
        if policy is None or policy.revision < least.revision:
            return False
        return not least.rights or is_visible(least.rights, self.state.snapshot)

    async def wait_for(self, least: AtLeast) -> bool:
        """Wait for a revision and a transaction, at most for the bound; return false on timeout."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self.lease.bound):
                while not self.has(least):
                    await self._changed.wait()
        return self.has(least)
