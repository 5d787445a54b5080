"""Whether a key or an agent can do what its person can't, and the exact condition on which it passes."""

import msgspec

from service.authz.engine.policy import Policy
from service.authz.engine.rules import ACCOUNT, ASSURANCE, ENDPOINT, assured
from service.kernel.assurance import BY_PERSONAL_KEY
from service.kernel.codes import NO_CODES
from service.laboratory.proof.within import Bounded, escapes


class Exceeding(msgspec.Struct, frozen=True, rename="camel"):
    """A caller who passes where its person, or a ceiling, would not: about which object, and how."""

    object: str
    how: str


class ProvedWithin(msgspec.Struct, frozen=True, rename="camel"):
    """The answer about all callers of a kind.

    ``exceeding`` is empty if none does what its person can't. ``parties`` each need a code of one line of an
    object. ``without_codes`` are the endpoints that need no code of any of them, and ``acts`` the acts on
    accounts that are open; all other acts are closed.
    """

    caller: Bounded
    exceeding: tuple[Exceeding, ...]
    parties: tuple[str, ...]
    without_codes: tuple[str, ...]
    acts: tuple[str, ...]


_PARTIES = {
    "agent": ("the person", "the roles of the agent within its API key", "the delegation"),
    "key": ("the person", "the scopes of the key"),
}


def prove_within(policy: Policy, caller: Bounded) -> ProvedWithin:
    """Return where callers of a kind exceed their person, and the condition on which they pass.

    Raises ``PolicyError`` for a model outside the closed grammar.
    """
    open_to_logins = (
        name
        for name in sorted(policy.rules.objects(ENDPOINT), key=lambda name: (name.partition(" ")[2], name))
        if policy.judge(ENDPOINT, name, NO_CODES).allowed
        and not policy.judge(ENDPOINT, name, None).allowed
        and policy.judge(ASSURANCE, assured(ENDPOINT, name), BY_PERSONAL_KEY).allowed
    )
    acts = (
        name.split(" ") for name in sorted(policy.rules.objects(ACCOUNT)) if policy.rules.codes(ACCOUNT, name)
    )
    return ProvedWithin(
        caller=caller,
        exceeding=tuple(Exceeding(name, str(how)) for name, how in escapes(policy, caller)),
        parties=_PARTIES[caller],
        without_codes=tuple(open_to_logins),
        acts=tuple(act for act, proof in acts if proof == "by-personal-key"),
    )
