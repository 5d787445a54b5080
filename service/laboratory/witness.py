"""Finds a question that a mutant answers differently, or proves that none exists.

The search is exhaustive over a finite alphabet. A predicate compares a held code with a line's code segment
by segment. So only held codes of these segments can differ: the line's own segments, ``*`` and one other
segment. Their length is at most one segment more than the line's code. If each row of a matcher has one
predicate of held codes, it allows a set of codes exactly if it allows one of them, or the empty set. So
callers with one code are enough. If lines of other objects may match too, the codes of those are enough:
a caller who passes by another line's code also passes by holding exactly that code.

Lines of endpoints are those of the policy. In the layers of resources and grants every code may have a line.
There, all codes of the policy and some made-up codes of one to four segments have a line.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import Any, Final, NamedTuple

import yaml

from service.authz.engine.lines import Lines
from service.authz.engine.predicates import ANONYMOUS
from service.authz.engine.rules import (
    APPROVE,
    ASSURANCE,
    LAYERS,
    LOGIN,
    NOBODY,
    OF_CODES,
    OPENING_NOTHING,
    REQUEST,
    RESOURCE,
    Rule,
)
from service.authz.publishing.contributions import Contribution, contributions
from service.authz.publishing.derive import derive
from service.authz.publishing.shipped import Shipped, is_stored
from service.kernel.assurance import EVERY_CALLER, WORDS, Satisfied
from service.kernel.codes import HeldCodes, is_code
from service.kernel.request_objects import PublishedRule, Stage, role_of
from service.kernel.services import NO_DEMAND, BoundResource
from service.laboratory.mutants import FUNCTIONS, Mutant, codes_of
from service.laboratory.tables import Question

_GLOBALS: Final[dict[str, object]] = {"__builtins__": {}, **FUNCTIONS}


class Answer(NamedTuple):
    """The visible part of an answer: the line that allowed, or the codes that would each suffice."""

    line: Rule | None
    required: tuple[str, ...]


class Judge:
    """Answers with one matcher, a Python expression of the names that Casbin generates.

    It does what Casbin does with an allow-override effect: the first line for which the matcher is true
    allows. Python itself evaluates the matcher, several times faster than Casbin's evaluator. That is safe: a
    matcher has passed the lint of models, and a mutant consists of its parts. A test compares the answers
    with both enforcers.
    """

    def __init__(self, expression: str) -> None:
        self._matcher = compile(expression, "matcher", "eval")

    def answer(self, question: Question, lines: Iterable[Rule], *, keyed: bool = True) -> Answer:
        """Answer ``question`` by ``lines``, which belong to its object if ``keyed``."""
        caller = ANONYMOUS if question.held is None else question.held
        names: dict[str, object] = {
            "r_layer": question.layer,
            "r_object": question.object,
            "r_caller": caller,
        }
        required = []
        for rule in lines:
            names["p_layer"], names["p_object"], names["p_code"] = rule
            if eval(self._matcher, _GLOBALS, names):  # noqa: S307 - see above
                return Answer(rule, ())
            if rule.code not in OPENING_NOTHING and (keyed or rule[:2] == (question.layer, question.object)):
                required.append(rule.code)
        return Answer(None, tuple(required))


_OTHER: Final = "x"
_MADE_UP: Final = ("a", "a:b", "a:b:c", "a:b:c:d")

_Dumper: Final[Any] = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


class Witness(NamedTuple):
    """A question that a mutant answers differently, with both answers."""

    question: Question
    right: Answer
    wrong: Answer


class Universe:
    """The distinguishable questions about a policy, in all layers."""

    def __init__(self, own: Shipped, expression: str) -> None:
        """Take a static policy and its matcher."""
        rules = own.rules
        codes = [*codes_of(rules), *_MADE_UP]
        beside = [_registered(name, "a:b") for name in dict.fromkeys(own.routes)]
        bound = [_registered(f"GET /bound/{at}", code) for at, code in enumerate(codes)]
        words = [BoundResource("GET", "/free", []), BoundResource("GET", "/closed", [("a", False)])]
        asked = [_requestable(f"r{at}", code) for at, code in enumerate(codes)]
        requestable = [*asked, _requestable("free", LOGIN)]
        each_word = {each.word: codes for each in contributions()}
        shared = derive([*beside, *bound, *words], codes, requestable=requestable, contributed=each_word)
        self.rules = Lines(own.rules).joined(shared)
        self._of_layer: dict[str, list[Rule]] = {}
        self._of_object: dict[str, list[Rule]] = {}
        for rule in self.rules:
            self._of_layer.setdefault(rule.layer, []).append(rule)
            self._of_object.setdefault(rule.object, []).append(rule)
        self._original = Judge(expression)
        self._answered: dict[tuple[str, str], list[tuple[Question, Answer]]] = {}

    def witness(self, mutant: Mutant) -> Witness | None:
        """Return a question that ``mutant`` answers differently, with the correct answer, or None."""
        judge = self._original if mutant.expression is None else Judge(mutant.expression)
        for layer, name in self._objects(mutant):
            altered = self._altered(layer, name, mutant)
            for question, right in self._asked(layer, name, altered, mutant):
                wrong = judge.answer(question, altered, keyed=not mutant.unkeyed)
                if wrong != right:
                    return Witness(question, right, wrong)
        return None

    def _altered(self, layer: str, name: str, mutant: Mutant) -> Sequence[Rule]:
        """Return the lines that may decide about an object under ``mutant``."""
        if mutant.unkeyed == "layer":
            return self._of_object.get(name, ())
        if mutant.unkeyed == "object":
            return self._of_layer.get(layer, ())
        return mutated(self.rules.of(layer, name), mutant)

    def _asked(
        self, layer: str, name: str, altered: Sequence[Rule], mutant: Mutant
    ) -> Iterable[tuple[Question, Answer]]:
        """Yield the distinguishable questions about an object, with the correct answers."""
        lines = self.rules.of(layer, name)
        if mutant.unkeyed or tuple(altered) != tuple(lines):
            codes = codes_of((*lines, *altered))
            return self._judged(layer, name, callers(layer, codes, whole=not mutant.unkeyed))
        # All mutants of the matcher need the same questions.
        if (layer, name) not in self._answered:
            self._answered[layer, name] = list(self._judged(layer, name, callers(layer, codes_of(lines))))
        return self._answered[layer, name]

    def _judged(
        self, layer: str, name: str, held: Iterable[HeldCodes | Satisfied | None]
    ) -> Iterator[tuple[Question, Answer]]:
        lines = self.rules.of(layer, name)
        for question in (Question(layer, name, caller) for caller in held):
            yield question, self._original.answer(question, lines)

    def _objects(self, mutant: Mutant) -> Iterator[tuple[str, str]]:
        for layer in [mutant.layer] if mutant.layer else LAYERS:
            seen = set()
            for name in [mutant.object] if mutant.object else self.rules.objects(layer):
                codes = tuple(rule.code for rule in self.rules.of(layer, name))
                # A matcher only compares objects for equality: objects with the same codes are decided alike.
                if codes not in seen and (mutant.code is None or mutant.code in codes):
                    seen.add(codes)
                    yield layer, name


def _requestable(role_code: str, code: str) -> PublishedRule:
    """Return a rule that lets holders of ``code`` request a role; ``@login`` lets everybody."""
    stages = [] if code == LOGIN else [Stage(code, 1)]
    return PublishedRule(role_code, code, stages, NO_DEMAND, grant_needed=code != LOGIN)


def _registered(name: str, code: str) -> BoundResource:
    method, _, path = name.partition(" ")
    return BoundResource(method, path, [(code, True)])


def mutated(lines: Sequence[Rule], mutant: Mutant) -> tuple[Rule, ...]:
    kept = tuple(rule for rule in lines if rule != mutant.deleted)
    return kept if mutant.added is None or mutant.added in kept else (*kept, mutant.added)


def callers(
    layer: str, codes: Iterable[str], *, whole: bool = True
) -> Iterator[HeldCodes | Satisfied | None]:
    """Yield a visitor, a caller without codes, and holders of one code each, the simplest first.

    The codes are those that lines of ``codes`` can distinguish; without ``whole`` only ``codes`` themselves.
    Callers of the layer ``assurance`` are the few possible sets of satisfied words.
    """
    yield None
    if layer == ASSURANCE:
        yield from EVERY_CALLER
        return
    yield HeldCodes()
    held = dict.fromkeys(("*", *codes))
    for code in codes if whole else ():
        held.update(dict.fromkeys(_told_apart(code.split(":"))))
    yield from (HeldCodes([code]) for code in held)


def _told_apart(segments: list[str]) -> Iterator[str]:
    last = segments[-1]
    for length in range(1, len(segments) + 2):
        own = [*segments, *[_OTHER] * 2][:length]
        places = [dict.fromkeys((segment, "*", segment[:-1] or _OTHER, last, _OTHER)) for segment in own]
        yield from filter(is_code, map(":".join, product(*places)))


def as_case(witness: Witness) -> str:
    """Return a decision table with the case of ``witness`` and its correct answer, as YAML."""
    question, right = witness.question, witness.right
    case: dict[str, object] = {
        "caller": "somebody",
        "asks": {"layer": question.layer, "object": question.object},
        "outcome": "deny" if right.line is None else "allow",
        "layer": question.layer,
    }
    if right.line is None:
        case["required"] = list(right.required)
    else:
        case["line"] = str(right.line)
    held: list[str] | str | None = None if question.held is None else sorted(question.held.codes)
    if isinstance(question.held, Satisfied):
        held = max(question.held.codes, key=WORDS.index)
    table = {**_shared(witness), "callers": {"somebody": held}, "cases": [case]}
    text: str = yaml.dump(table, Dumper=_Dumper, sort_keys=False, default_flow_style=None, width=100)
    return text


def _shared(witness: Witness) -> dict[str, object]:
    """Return the registrations and codes that a table needs to produce both answers."""
    layer, name = witness.question.layer, witness.question.object
    codes = witness.right.required if witness.right.line is None else (witness.right.line.code,)
    rules = [Rule(layer, name, code) for code in codes or (NOBODY,)]
    if witness.wrong.line is not None:
        rules.append(witness.wrong.line)
    registered: dict[str, list[object]] = {}
    granted: list[str] = []
    requestable: dict[str, object] = {}
    for rule in rules:
        if rule.layer in OF_CODES:
            granted.append(rule.object)
        elif rule.layer == ASSURANCE and is_stored(rule.object):
            layer, _, name = rule.object.partition(" ")
            if layer == REQUEST:
                requestable[role_of(name)] = {"by": LOGIN, "stages": []}
            else:
                registered.setdefault(name, [])
        elif rule.layer in (REQUEST, APPROVE):
            code = _OTHER if rule.code in OPENING_NOTHING else rule.code
            stages = [] if code == LOGIN else [{"code": code}]
            requestable[role_of(rule.object)] = {"by": code, "stages": stages, "grant_needed": code != LOGIN}
        elif rule.layer == RESOURCE and not rule.object.startswith("@"):
            bound = registered.setdefault(rule.object, [])
            if rule.code == NOBODY:
                bound.append({"disabled": _OTHER})
            elif rule.code != LOGIN:
                bound.append(rule.code)
    members = {
        "registered": registered,
        "codes": sorted(set(granted)),
        "requestable": requestable,
        **{each.word: sorted(_sources(each, rules)) for each in contributions()},
    }
    return {key: value for key, value in members.items() if value}


def _sources(contribution: Contribution, rules: Iterable[Rule]) -> set[str]:
    """Return the input of those ``rules`` that features have contributed."""
    sources = (contribution.source(rule.object) for rule in rules if rule.layer == contribution.layer)
    return {source for source in sources if source is not None}
