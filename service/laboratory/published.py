"""Compares the published policy in a plain Casbin with the answers of the service.

The plain Casbin is a ``casbin.Enforcer`` with ``model.conf``, the lines that its SQLAlchemy adapter loads
from ``casbin_rule``, and the lines of the files. It has no index, no cache and no part of the service except
the six functions of the matcher. So reviewers can verify that only Casbin decides.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import casbin
import msgspec
from casbin.model import Model

from service.authz.engine.policy import Policy
from service.authz.engine.rules import ASSURANCE, Rule
from service.kernel.assurance import BY_STRONGEST, Satisfied
from service.kernel.codes import HeldCodes, is_code
from service.kernel.text import counted
from service.laboratory.casbin_adapter import PolicyAdapter
from service.laboratory.table_run import casbin_decider
from service.laboratory.tables import Question
from service.records.database.transactions import SyncConnection

MOST_EVALUATED: Final = 2_000_000
"""The maximum number of lines evaluated by the plain Casbin, about half a minute: all lines, per question."""
MOST_ROLES: Final = 10
"""The maximum number of roles whose codes are tested, the first ones by code."""


class Disagreement(msgspec.Struct, frozen=True, rename="camel"):
    """A question with two answers: ``plain`` and ``service`` are the deciding lines, or ``denied``."""

    layer: str
    object: str
    caller: str
    plain: str
    service: str

    def __str__(self) -> str:
        asked = f"{self.caller} asks {self.object} in the layer {self.layer}"
        return f"{asked}: a plain Casbin says {self.plain}, the service {self.service}"


class PublishedTest(msgspec.Struct, frozen=True, rename="camel"):
    """The result of a test of ``revision``: ``asked`` of its ``objects``, each for several callers."""

    revision: int
    published_lines: int
    file_lines: int
    objects: int
    asked: int
    questions: int
    disagreements: tuple[Disagreement, ...]

    def __str__(self) -> str:
        lines = f"{counted(self.published_lines, 'published line')} and {self.file_lines} of the files"
        asked = (
            f"{counted(self.questions, 'question')} about {self.asked} of {counted(self.objects, 'object')}"
        )
        head = f"Revision {self.revision}, loaded by casbin-sqlalchemy-adapter: {lines}."
        ends = f"{len(self.disagreements)} answers differ" if self.disagreements else "all answers agree"
        return "\n".join([head, *map(str, self.disagreements), f"{asked}, by a plain Casbin: {ends}."])


class PlainCasbin:
    """A plain ``casbin.Enforcer`` with the published lines and those of the files."""

    def __init__(self, policy: Policy, connection: SyncConnection) -> None:
        """Load the published lines through ``connection``; ``policy`` is the service's, with the files."""
        self._policy = policy
        model = Model()
        model.load_model_from_text(policy.model_text)
        enforcer = casbin.Enforcer(model, PolicyAdapter(connection))
        self._published = len(enforcer.get_policy())
        enforcer.enable_auto_save(False)  # the adapter refuses to write
        enforcer.add_policies([list(rule) for rule in policy.own])
        self._lines = len(enforcer.get_policy())
        self._decide = casbin_decider(enforcer)

    def compared(self, codes: Mapping[str, tuple[str, ...]]) -> PublishedTest:
        """Compare all answers; ``codes`` has the codes of each role."""
        policy = self._policy
        objects = list(dict.fromkeys((rule.layer, rule.object) for rule in policy.rules))
        roles = [(f"the role {role}", HeldCodes(codes[role])) for role in sorted(codes)[:MOST_ROLES]]
        each = self._lines * (len(roles) + 4)
        step = max(1, -(-len(objects) * each // MOST_EVALUATED))
        chosen = objects[::step]
        questions = 0
        disagreements = []
        for layer, name in chosen:
            for caller, held in _callers(policy, layer, name, roles):
                questions += 1
                allowed, line = self._decide(Question(layer, name, held))
                decision = policy.judge(layer, name, held)
                answers = _shown(allowed, line), _shown(decision.allowed, decision.line)
                if answers[0] != answers[1]:
                    disagreements.append(Disagreement(layer, name, caller, *answers))
        return PublishedTest(
            revision=policy.revision,
            published_lines=self._published,
            file_lines=self._lines - self._published,
            objects=len(objects),
            asked=len(chosen),
            questions=questions,
            disagreements=tuple(disagreements),
        )


def _callers(
    policy: Policy, layer: str, name: str, roles: Iterable[tuple[str, HeldCodes]]
) -> Iterator[tuple[str, HeldCodes | Satisfied | None]]:
    """Yield a visitor, a login without codes, a holder of each code of the object, and the roles."""
    yield "nobody logged in", None
    if layer == ASSURANCE:
        yield from ((f"a caller with {word}", satisfied) for word, satisfied in BY_STRONGEST.items())
        return
    yield "a login without codes", HeldCodes([])
    for code in policy.rules.codes(layer, name):
        if is_code(code):
            yield f"a holder of {code}", HeldCodes([code])
    yield from roles


def _shown(allowed: bool, line: Rule | None) -> str:
    return str(line) if allowed and line is not None else "denied"
