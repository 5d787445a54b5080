"""Callers with ceilings, of all that could exist: API keys of people, and agents that act for people.

A key or an agent must pass only where its person passes, and where its scopes, its roles and the delegation
each hold a code of a line.
"""

from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import compress, product
from typing import Final, Literal, NamedTuple

from service.authz.engine.policy import Policy
from service.authz.engine.rules import (
    ACCOUNT,
    ANYONE,
    ASSURANCE,
    LOGIN,
    OPENING_NOTHING,
    RESOURCE,
    Rule,
)
from service.kernel.account_acts import ACT_FOR_OTHER
from service.kernel.assurance import BY_PERSONAL_KEY, Authentication, words_at
from service.kernel.coded_sentences import Sentence
from service.kernel.codes import (
    BY_AGENT,
    BY_APPROVAL,
    BY_DELEGATION,
    BY_KEY,
    NO_CODES,
    BoundedCodes,
    Ceiling,
    HeldCodes,
)
from service.kernel.core_sentences import sentence
from service.laboratory.proof.conditions import Condition, line_answers
from service.laboratory.proof.escaping import escaping

Bounded = Literal["agent", "key"]
"""The kinds of callers with ceilings: agents that act for people, and API keys of people."""

_CODE: Final = "a:b:c"
# Held codes of each way to hold _CODE, so that each combination of the model's predicates occurs.
_WAYS: Final = (_CODE, "*", "a:*", "*:b:c")
_EVERY: Final = tuple(frozenset(compress(_WAYS, chosen)) for chosen in product((False, True), repeat=4))
_FEW: Final = (frozenset[str](), *(frozenset({way}) for way in _WAYS), frozenset(_WAYS))
_AT_WORDS: Final = (frozenset[str](), frozenset(_WAYS))  # no predicate about held codes is true of a word
_WORDS: Final = (ANYONE, LOGIN, *sorted(OPENING_NOTHING))
_OPEN: Final = (ANYONE, LOGIN)
_SESSION: Final = words_at(Authentication(), 0.0)
"""The words of a person who has logged in with a password long ago."""


class Escape(NamedTuple):
    """A caller with ceilings who passes without them: about which object, and how, in words."""

    object: str
    how: Sentence


def escapes(policy: Policy, of: Bounded) -> Iterator[Escape]:
    """Yield where a key or an agent passes although its person, or one of its ceilings, would not.

    Exact for every possible caller, by a linted model. The question about a line depends on its code, and on
    the predicates that are true of each party; each combination is asked of the model. The lines decide the
    rest: what authentication a key or an agent has, and at which services an agent acts.
    """
    yield from model_escapes(policy.model_text, of)
    exceeding: dict[tuple[str, ...], bool] = {}  # thousands of objects have few different demands
    for name in sorted(policy.rules.objects(ASSURANCE)):
        words = policy.rules.codes(ASSURANCE, name)
        if words not in exceeding:
            exceeding[words] = _exceeds_login(policy, name)
        if exceeding[words]:
            yield Escape(name, sentence("exceeds_login"))
    answers = line_answers(policy.model_text)
    for name in sorted(policy.rules.objects(ACCOUNT)):
        act, _, proof = name.partition(" ")
        in_session = policy.rules.codes(ACCOUNT, f"{act} by-session")
        if proof == "by-personal-key" and in_session:
            mine = Condition(answers, (policy.rules.codes(ACCOUNT, name),))
            if escaping(mine, Condition(answers, (in_session,))) is not None:
                yield Escape(name, sentence("exceeds_session", act=act))
    if of == "agent" and policy.rules.codes(ACCOUNT, ACT_FOR_OTHER):
        yield Escape(ACT_FOR_OTHER, sentence("exceeds_services"))


def _exceeds_login(policy: Policy, name: str) -> bool:
    by_key = policy.judge(ASSURANCE, name, BY_PERSONAL_KEY).allowed
    return by_key and not policy.judge(ASSURANCE, name, _SESSION).allowed


@lru_cache(maxsize=32)
def model_escapes(model_text: str, of: Bounded, *, every: bool = False) -> tuple[Escape, ...]:
    """Return how a caller with ceilings passes a line that one of the parties holds no code for.

    The grammar of codes decides what the parties hold, not the model: so a model that opens more is found.
    ``every`` asks about each combination of predicates of all parties, else about those with none, one and
    all true: rows of the model are alternatives.
    """
    objects = {code: f"GET /{place}" for place, code in enumerate((*_WORDS, _CODE))}
    policy = Policy(model_text, [Rule(RESOURCE, name, code) for code, name in objects.items()])
    escaped: dict[tuple[str, str], Escape] = {}
    for code, name in objects.items():
        holdings = _AT_WORDS if code != _CODE else _EVERY if every else _FEW
        for parties in product(holdings, repeat=2 if of == "key" else 3):
            for held, grants in _bounded(of, *map(HeldCodes, parties)):
                lacking = [] if code in _OPEN else [by for by, granted in grants.items() if not granted(code)]
                if lacking and policy.judge(RESOURCE, name, held).allowed:
                    how = sentence("exceeds_line", party=lacking[0])
                    escaped.setdefault((code, lacking[0]), Escape(code, how))
    return tuple(escaped.values())


_Grants = dict[str, Callable[[str], bool]]


def _bounded(of: Bounded, person: HeldCodes, *ceilings: HeldCodes) -> Iterator[tuple[BoundedCodes, _Grants]]:
    """Yield callers with these codes, with what each party grants, by the pages and not by the engine."""
    names = ("account", BY_KEY) if of == "key" else ("account", BY_AGENT, BY_DELEGATION)
    grants: _Grants = {by: _granting(party) for by, party in zip(names, (person, *ceilings), strict=True)}
    asked = tuple(Ceiling(by, party.codes) for by, party in zip(names[1:], ceilings, strict=True))
    yield BoundedCodes(person.codes, asked), grants
    for code in ("a:*", _CODE) if of == "agent" else ():
        free = _granting(ceilings[1], HeldCodes([code]))
        approval = Ceiling(BY_APPROVAL, frozenset({code}))
        yield BoundedCodes(person.codes, (*asked, approval)), {**grants, BY_APPROVAL: free}


def _granting(party: HeldCodes, excluded: HeldCodes = NO_CODES) -> Callable[[str], bool]:
    return lambda code: not code.startswith("@") and party.holds(code) and not excluded.holds(code)
