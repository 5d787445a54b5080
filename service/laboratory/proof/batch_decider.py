"""Decides many requests for many sets of held codes, by few questions to the enforcer."""

from collections.abc import Iterable
from typing import Final

from service.authz.engine.policy import Policy
from service.authz.engine.rules import ANYONE, ENDPOINT
from service.kernel.codes import HeldCodes
from service.laboratory.proof.conditions import Clauses, clauses_of, lets_visitors_pass, line_answers
from service.laboratory.proof.external_classes import external_classes
from service.laboratory.proof.request_classes import RequestClass, registered, request_classes

DecidingLines = tuple[tuple[str, ...], tuple[str, ...]]
"""Deciding lines of a request: the codes of the lines of its objects, in both layers."""

EVERYBODY: Final[DecidingLines] = ((ANYONE,), (ANYONE,))
"""The deciding lines of an open public route, which does not authenticate."""


def deciding_lines(clauses: Clauses) -> DecidingLines:
    """Return the clauses of both layers; a layer that is not asked lets every caller pass."""
    resource, endpoint = (*clauses, *EVERYBODY[len(clauses) :])
    return resource, endpoint


class BatchDecider:
    """Decides requests of one policy, for many sets of held codes.

    The enforcer is asked once for each way in which a caller may hold the code of a line, and not for each
    object: see ``LineAnswers``.
    """

    def __init__(self, policy: Policy) -> None:
        """Raises PolicyError for a model outside the closed grammar."""
        self._policy = policy
        self._answers = line_answers(policy.model_text)
        self._opened: dict[HeldCodes | None, dict[str, bool]] = {}

    def lines(self, request_class: RequestClass | None) -> DecidingLines:
        """Return, for both layers, the codes of the deciding lines; none for an unserved request."""
        return deciding_lines(clauses_of(self._policy, request_class))

    def passes(self, lines: DecidingLines, held: HeldCodes) -> bool:
        """Return True if a logged-in caller who holds ``held`` passes both layers."""
        opened = self._opened.setdefault(held, {})
        return all(any(self._opens(code, held, opened) for code in codes) for codes in lines)

    def passes_request(self, request_class: RequestClass, held: HeldCodes | None) -> bool:
        """Return True if a holder of ``held`` passes a request of this class; None is not logged in."""
        if held is None:
            return lets_visitors_pass(self._policy, clauses_of(self._policy, request_class))
        return self.passes(self.lines(request_class), held)

    def opens(self, layer: str, name: str, held: HeldCodes | None) -> bool:
        """Return True if a holder of ``held`` may access object ``name`` in ``layer``; None: no login."""
        opened = self._opened.setdefault(held, {})
        return any(self._opens(code, held, opened) for code in self._policy.rules.codes(layer, name))

    def _opens(self, code: str, held: HeldCodes | None, opened: dict[str, bool]) -> bool:
        if (answer := opened.get(code)) is None:
            answer = opened[code] = self._answers.opens(code, held)
        return answer


def all_requests(policy: Policy, routes: Iterable[str] | None = None) -> list[RequestClass]:
    """Return the classes of requests that ``policy`` distinguishes, by path and method.

    All of them, those to other services at the end, or those that ``routes`` serve.
    """
    served = policy.rules.objects(ENDPOINT)
    chosen = None if routes is None else set(routes)
    names = [name for name in served if chosen is None or name in chosen]
    requests = request_classes(names, registered(policy), serving=policy.routes)
    own = sorted(requests, key=lambda request: (request.name.partition(" ")[2], request.name))
    return own if routes is not None else [*own, *external_classes(policy)]
