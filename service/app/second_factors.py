"""Second factors in a worker: the parts that logins, step-ups and the enrolment of factors share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from service.app.stores import Stores
from service.authn.factors.challenges import Challenges
from service.authn.factors.checking import FactorCheck
from service.authn.factors.passkeys import RelyingParty
from service.authn.factors.sealing import FactorKeys
from service.authn.factors.second_step import SecondStep
from service.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class SecondFactors:
    """What checks second factors; ``party`` is None where the service has no address for passkeys."""

    keys: FactorKeys
    party: RelyingParty | None
    challenges: Challenges
    check: FactorCheck
    step: SecondStep
    now: Callable[[], float]


def make(settings: Settings, stores: Stores) -> SecondFactors:
    """Return what checks the second factors of the worker."""
    database, now = stores.database, stores.sessions.synchronized.now
    keys, party = FactorKeys.of(settings.auth), RelyingParty.of(settings.server.public_url)
    challenges = Challenges(stores.sessions)
    check = FactorCheck(database, keys, party, now)
    step = SecondStep(database, challenges, check, party)
    return SecondFactors(keys=keys, party=party, challenges=challenges, check=check, step=step, now=now)
