"""Evaluates questions of other services, each with the rights that its subject has at that moment."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from service.authz.engine.policy import Policy
from service.evaluation.answers import Answer, Answers
from service.evaluation.entities import Asked, Subject
from service.evaluation.questions import question_of
from service.evaluation.subjects import Subjects
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
    ) -> list[Answer]:
        """Return the answers to ``asked``, in order; None stands for a question that is incomplete.

        ``asking`` is the account that asks. The list ends behind the first answer that is ``ends_with``, if
        that is given; what follows is not asked. Raises ``Unavailable``.
        """
        subjects = {one.subject for one in asked if one is not None}
        callers = await self._subjects.callers(subjects, policy.permission_map)
        answers = []
        for one, caller, answer in self._answered(policy, asking, asked, callers):
            answers.append(answer)
            if note is not None and one is not None:
                note(one, caller, answer)
            if answer.allowed is ends_with:
                break
        return answers

    def _answered(
        self,
        policy: Policy,
        asking: Caller,
        asked: Sequence[Asked | None],
        callers: dict[Subject, Caller],
    ) -> Iterator[tuple[Asked | None, Caller | None, Answer]]:
        for one in asked:
            if one is None:
                yield None, None, INCOMPLETE
                continue
            caller = callers.get(one.subject)
            yield one, caller, self.answer(policy, asking, one, caller)

    def answer(self, policy: Policy, asking: Caller, asked: Asked, caller: Caller | None) -> Answer:
        """Return the answer about ``caller``, the subject of ``asked``; None for one that is not active."""
        question = question_of(asked.action, asked.resource, asking.service)
        if isinstance(question, str):
            return Answer(False, question)
        return NOT_ACTIVE if caller is None else self._answers.of(policy, question, caller.held)
