"""Requestable roles that would allow a refused operation; refusals to persons name them."""

from dataclasses import dataclass

from service.authz.engine.policy import Policy
from service.authz.engine.refused import MOST_ROLES, Refused
from service.authz.engine.rules import REQUEST
from service.errors import Unavailable
from service.kernel.codes import HeldCodes
from service.kernel.cooperative_yield import CooperativeYield
from service.kernel.identity import Caller
from service.kernel.request_objects import ask, role_of
from service.laboratory.proof.batch_decider import BatchDecider
from service.records import roles
from service.records.database.transactions import Database


def requestable_codes(policy: Policy, held: HeldCodes | None) -> list[str]:
    """Return the codes of the roles that a holder of ``held`` may request, sorted."""
    names = policy.rules.objects(REQUEST)
    if not names:
        return []
    decider = BatchDecider(policy)
    codes = sorted({role_of(name) for name in names})
    return [code for code in codes if decider.opens(REQUEST, ask(code), held)]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RequestableRoles:
    """Finds requestable roles that would allow a refused operation."""

    database: Database

    async def opening(self, policy: Policy, caller: Caller, refused: Refused) -> list[str]:
        """Return the codes of at most ``MOST_ROLES`` roles, sorted; empty if the roles cannot be read.

        Each role alone, added to the caller's codes, allows the refused operation by ``policy``. The database
        is queried only if the layer ``request`` allows a role.
        """
        open_codes = requestable_codes(policy, caller.held)
        if not open_codes:
            return []
        try:
            offered = await roles.held_codes_of(self.database, open_codes)
        except Unavailable:
            return []  # the refusal stands without roles
        decider = BatchDecider(policy)
        decide = any if refused.any_one else all

        named: list[str] = []
        yielding = CooperativeYield()
        for role_code, more in offered:
            held = HeldCodes(caller.held.codes.union(more))
            if decide(decider.opens(layer, name, held) for layer, name in refused.objects):
                named.append(role_code)
                if len(named) == MOST_ROLES:
                    break
            await yielding.after_item()
        return named
