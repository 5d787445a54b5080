"""Which persons hold codes for requests whose demands they can't meet, by the factors that they have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, TypeAlias

from service.authz.engine.request_classes import RequestClass
from service.authz.proof.batch_decider import BatchDecider, all_requests
from service.authz.proof.demands import demands_on, meeting, weakest
from service.authz.review.findings import Finding
from service.authz.review.impact import Roles, Standing
from service.kernel.assurance import BY_STRONGEST, Acr, Satisfied
from service.kernel.codes import HeldCodes
from service.kernel.text import counted

UNMET: Final = "demand-unmet"

Strengths: TypeAlias = Mapping[tuple[Roles, Acr], int]
"""How many persons have which roles and can authenticate how strongly at most."""

_BEST: Final[dict[Acr, Satisfied]] = {
    "pwd": BY_STRONGEST["@login-within-15m"],
    "mfa": BY_STRONGEST["@two-factors-within-15m"],
    "phr": BY_STRONGEST["@phishing-resistant-within-15m"],
}
_HAVE: Final[dict[Acr, str]] = {
    "pwd": "no second factor",
    "mfa": "no passkey",
    "phr": "nothing stronger than a passkey",
}


def unmet_demands(standing: Standing, strengths: Strengths) -> Iterator[Finding]:
    """Yield a finding for each set of roles, and what its persons can prove, that falls short of a demand.

    Requests that are open to everybody who is logged in don't count: nobody holds a code for them.
    """
    policy = standing.policy
    decider = BatchDecider(policy)
    demanding = {
        request: meeting(policy.model_text, demands_on(policy, request))
        for request in all_requests(policy)
        if not decider.passes_request(request, HeldCodes())
    }
    for (roles, acr), persons in sorted(strengths.items()):
        beyond = [request for request, enough in demanding.items() if _BEST[acr] not in enough]
        held = standing.held(roles) if beyond else HeldCodes()
        unmet = [request for request in beyond if decider.passes_request(request, held)]
        if unmet:
            words = " or ".join(weakest(demanding[unmet[0]])) or "what nobody has"
            yield Finding(UNMET, f"{' '.join(roles)} {acr}", _reason(persons, acr, unmet, words))


def _reason(persons: int, acr: Acr, unmet: list[RequestClass], words: str) -> str:
    first = f"{unmet[0].name} demands {words}" + (
        f", the first of {len(unmet)} requests" if unmet[1:] else ""
    )
    return f"{counted(persons, 'person')} with {_HAVE[acr]}: {first}"
