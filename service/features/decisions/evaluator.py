"""Answer questions about named subjects, and cache the answers.

Services repeat questions about the same resources, a hundred at once. Answers to an account about holders of
the same codes are cached until the policy changes.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from service.authn.key_callers import is_api_key
from service.authz.engine.policy import Policy
from service.features.decisions.questions import (
    INCOMPLETE,
    NOT_ACTIVE,
    TOKEN,
    Act,
    Subject,
    Subjects,
    action_and_resource,
    question_by,
)
from service.kernel.assurance import Satisfied
from service.kernel.cooperative_yield import CooperativeYield
from service.kernel.identity import Caller, words_asked
from service.kernel.tracing import current_span
from service.laboratory.analysis.answers import Answer, Answers, Question, is_short

Posed: TypeAlias = tuple[Subject, Act]
"""A question: its subject, and the action on a resource."""


class Known(Struct, eq=False):
    """A cached answer to an account about holders of the same codes, until the policy changes.

    ``shown`` is the answer sent to the account, ``logged`` its part of the decision log. Both are created on
    first use.
    """

    act: Act
    answer: Answer
    shown: Any = None
    logged: Any = None


class Answered(NamedTuple):
    """Answers about one subject, in order. ``subject`` is None for an incomplete question.

    ``caller`` is the subject's caller, or None if the subject is not active. ``satisfied`` are the
    authentication demands that the decision used.
    """

    subject: Subject | None
    caller: Caller | None
    satisfied: Satisfied | None
    known: list[Known]


_MOST_KNOWN: Final = 10_000
"""Maximum number of cached answers and tables per process; beyond it, the cache is emptied."""
_Table: TypeAlias = dict[Act, Known]
_NO_ACT: Final[Act] = ("", "", "", None)


class Evaluator:
    """Answers questions about named subjects."""

    def __init__(self, subjects: Subjects, answers: Answers) -> None:
        self._subjects = subjects
        self._answers = answers
        self._policy: Policy | None = None
        self._tables: dict[tuple[object, ...], _Table] = {}
        self._kept = 0
        self._questions: dict[tuple[object, ...], Question | Answer] = {}

    async def evaluate(
        self,
        policy: Policy,
        asking: Caller,
        posed: Sequence[Posed | None],
        *,
        ends_with: bool | None = None,
        all_rights: bytes | None = None,
    ) -> list[Answered]:
        """Return the answers to ``posed`` in order; None stands for an incomplete question.

        ``asking`` is the account that asks. If ``ends_with`` is set, the answers stop after the first one
        with that outcome. Other requests get turns in between. ``all_rights`` as for ``CurrentRights``.
        Raises ``Unavailable``.
        """
        subjects = {question[0] for question in posed if question is not None}
        callers = await self._subjects.callers(subjects, policy.permission_map, all_rights)
        answered: list[Answered] = []
        group, table = _NOBODY, _NO_TABLE
        work = CooperativeYield()
        known: Known | None
        for question in posed:
            if question is None:
                known = Known(_NO_ACT, INCOMPLETE)
                group = Answered(None, None, None, [known])
                answered.append(group)
            else:
                subject, act = question
                if subject is not group.subject:
                    group, table = self._about(policy, asking, subject, callers.get(subject))
                    answered.append(group)
                known = table.get(act)
                if known is None:
                    known = self._find(policy, asking, group, table, act)
                    await work.after_item()
                group.known.append(known)
            if known.answer.allowed is ends_with:
                break
        return answered

    async def evaluate_one(
        self, policy: Policy, asking: Caller, posed: Posed, all_rights: bytes | None = None
    ) -> Answered:
        """Return the answer to one question as ``evaluate`` does."""
        subject, act = posed
        caller = await self._subjects.caller(subject, policy.permission_map, all_rights)
        answered, table = self._about(policy, asking, subject, caller)
        known = table.get(act) or self._find(policy, asking, answered, table, act)
        answered.known.append(known)
        return answered

    def _about(
        self, policy: Policy, asking: Caller, subject: Subject, caller: Caller | None
    ) -> tuple[Answered, _Table]:
        """Return the collector of answers about a subject, and the cache for holders of its codes."""
        if policy is not self._policy or self._kept >= _MOST_KNOWN:
            self._policy, self._kept = policy, 0
            self._tables, self._questions = {}, {}
        satisfied = words_asked(caller, self._answers.now())
        answered = Answered(subject, caller, satisfied, [])
        # No cache: an answer about an API key names its account, and a trace has a span for each decision.
        if current_span() is not None or (subject.type == TOKEN and is_api_key(subject.id)):
            return answered, {}
        services = None if caller is None or caller.agent is None else caller.agent.services
        about = (
            None if caller is None else (caller.limited_to_nothing, caller.held.asked_as, satisfied, services)
        )
        key = (asking.kind, asking.service, asking.limited_to_nothing, asking.held.asked_as, about)
        table = self._tables.get(key)
        if table is None:
            table = self._tables[key] = {}
            self._kept += 1
        return answered, table

    def _find(self, policy: Policy, asking: Caller, about: Answered, table: _Table, act: Act) -> Known:
        """Decide the question and cache the answer."""
        subject, caller = about.subject, about.caller
        question = self._question(policy, asking, act)
        if isinstance(question, Answer):
            answer = question
        elif caller is None:
            answer = NOT_ACTIVE
        else:
            answer = self._answers.about(policy, question, caller)
            token = subject.id if subject is not None and subject.type == TOKEN else ""
            if answer.allowed and is_api_key(token):
                answer = replace(answer, subject=caller)
        known = Known(act, answer)
        if is_short(act):
            self._kept += 1
            table[act] = known
        return known

    def _question(self, policy: Policy, asking: Caller, act: Act) -> Question | Answer:
        key = (act, asking.service, asking.limited_to_nothing, asking.held.asked_as)
        is_current = policy is self._policy  # another request may use a newer policy
        question = self._questions.get(key) if is_current else None
        if question is None:
            question = question_by(policy, asking, *action_and_resource(act))
            if is_current and is_short(act):
                if len(self._questions) >= _MOST_KNOWN:
                    self._questions.clear()
                self._questions[key] = question
        return question


_NOBODY: Final = Answered(None, None, None, [])
_NO_TABLE: Final[_Table] = {}
