"""Find callers with a sufficient authentication, among all possible callers.

A caller of the layer ``assurance`` is a set of words. The possible sets are few, so all are tested.
"""

from collections.abc import Collection, Iterable
from functools import lru_cache
from typing import Final, TypeAlias

from service.authz.engine.policy import Policy
from service.authz.engine.rules import ASSURANCE, ENDPOINT, RESOURCE, Rule, assured
from service.kernel.assurance import ANYONE, EVERY_CALLER, LOGIN, WORDS, Satisfied
from service.laboratory.lint.model import require_grammar
from service.laboratory.proof.request_classes import RequestClass

Demands: TypeAlias = tuple[tuple[str, ...], ...]
"""The words of the lines about some objects; of each object one must be satisfied."""

Callers: TypeAlias = frozenset[Satisfied]
"""Some of ``EVERY_CALLER``."""


def demands_on(policy: Policy, request_class: RequestClass, resource: str | None = None) -> Demands:
    """Return the demands on the sender of a request of this class, by both objects.

    ``resource`` is ``request_class.resource(policy)`` if it is known.
    """
    names = [assured(RESOURCE, request_class.resource(policy) if resource is None else resource)]
    if not request_class.is_external:
        names.append(assured(ENDPOINT, request_class.route))
    return tuple(policy.rules.codes(ASSURANCE, name) for name in names)


@lru_cache(maxsize=10_000)
def meeting(model_text: str, demands: Demands) -> Callers:
    """Return who meets all of ``demands``, as an enforcer of ``model_text`` answers.

    PolicyError for a model outside the closed grammar, by which an answer depends on the word alone.
    """
    opened = _opened(model_text)
    return frozenset(EVERY_CALLER).intersection(
        *(frozenset[Satisfied]().union(*(opened[word] for word in words)) for words in demands)
    )


@lru_cache(maxsize=8)
def _opened(model_text: str) -> dict[str, Callers]:
    """Return to whom a line with each word opens."""
    require_grammar(model_text)
    names = {word: assured(RESOURCE, f"GET /{place}") for place, word in enumerate(WORDS)}
    asked = Policy(model_text, [Rule(ASSURANCE, name, word) for word, name in names.items()])
    return {
        word: frozenset(each for each in EVERY_CALLER if asked.judge(ASSURANCE, name, each).allowed)
        for word, name in names.items()
    }


def weakest(callers: Collection[Satisfied]) -> tuple[str, ...]:
    """Return the strongest word of each caller in ``callers`` for whom no other caller satisfies less.

    Any one of these words is enough, and nothing less is.
    """
    least = [each for each in callers if not any(other.codes < each.codes for other in callers)]
    return tuple(sorted((max(each.codes, key=WORDS.index) for each in least), key=WORDS.index))


def least_words(policy: Policy, demands: Demands) -> tuple[str, ...]:
    """Return the weakest words that meet ``demands``, each of which is enough; none if no word does."""
    return _weakest_meeting(policy.model_text, demands)


@lru_cache(maxsize=10_000)
def _weakest_meeting(model_text: str, demands: Demands) -> tuple[str, ...]:
    return weakest(meeting(model_text, demands))


def demanded(words: Iterable[str]) -> tuple[str, ...]:
    """Return ``words`` if they demand anything; nothing else."""
    known = tuple(words)
    return () if ANYONE in known else known


def beyond_login(words: Iterable[str]) -> tuple[str, ...]:
    """Return ``words`` if they demand more of a person than a login, however old; nothing else."""
    known = tuple(words)
    return () if any(WORDS.index(word) <= _LOGIN for word in known) else known


_LOGIN: Final = WORDS.index(LOGIN)
