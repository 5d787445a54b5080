"""Evaluates questions of other services, each with the rights that its subject has at that moment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from msgspec.structs import replace

from service.authn.api_key_form import is_api_key
from service.authz.engine.policy import Policy
from service.evaluation.answers import Answer, Answers, question_by
from service.evaluation.questions import TOKEN, Asked
from service.evaluation.subjects import Subjects
from service.kernel.cooperative_yield import CooperativeYield
from service.kernel.identity import Caller

Note: TypeAlias = Callable[[Asked, Caller | None, Answer], None]
"""Takes each question with the subject that was found and the answer, for the decision log."""

NOT_ACTIVE = Answer(False, "subject_not_active")
INCOMPLETE = Answer(False, "incomplete")


class Evaluator:
    """Answers questions about subjects that are named."""

    def __init__(self, subjects: Subjects, answers: Answers) -> None:
        self._subjects = subjects
        self._answers = answers

    async def evaluate(
        self,
        policy: Policy,
        asking: Caller,
        asked: Sequence[Asked | None],
        *,
        ends_with: bool | None = None,
        note: Note | None = None,
        all_rights: bytes | None = None,
    ) -> list[Answer]:
        """Return the answers to ``asked``, in order; None stands for a question that is incomplete.

        ``asking`` is the account that asks. The list ends behind the first answer that is ``ends_with``, if
        that is given; what follows is not asked. Other requests get turns in between.
        ``all_rights`` as for ``CurrentRights``. Raises ``Unavailable``.
        """
        subjects = {question.subject for question in asked if question is not None}
        callers = await self._subjects.callers(subjects, policy.permission_map, all_rights)
        answers, work = [], CooperativeYield()
        for question in asked:
            answer = INCOMPLETE
            if question is not None:
                caller = callers.get(question.subject)
                answer = self.answer(policy, asking, question, caller)
                if answer.allowed and question.subject.type == TOKEN and is_api_key(question.subject.id):
                    answer = replace(answer, subject=caller)
                if note is not None:
                    note(question, caller, answer)
            answers.append(answer)
            if answer.allowed is ends_with:
                break
            await work.after_item()
        return answers

    def answer(self, policy: Policy, asking: Caller, asked: Asked, caller: Caller | None) -> Answer:
        """Return the answer about ``caller``, the subject of ``asked``; None for one that is not active."""
        question = question_by(policy, asking, asked.action, asked.resource)
        if isinstance(question, Answer):
            return question
        return NOT_ACTIVE if caller is None else self._answers.about(policy, question, caller)
