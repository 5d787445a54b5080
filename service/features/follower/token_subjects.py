"""The callers of tokens at a follower, as the hub finds them."""

from typing import Final, NamedTuple

from msgspec import UNSET

from service.authn.claims import AccessClaims, BearerClaims, ClientClaims, DelegatedClaims
from service.authn.delegated_tokens import Terms, delegated_caller
from service.authn.token_callers import TokenCallers
from service.authn.token_verifying import Verified
from service.errors import Refusal
from service.features.follower.lease import Lease
from service.features.follower.protocol import DelegationRecord, KeyRecord
from service.features.follower.state import FollowedState
from service.kernel.codes import HeldCodes, intersection
from service.kernel.identity import Caller

_MOST_TOKENS: Final = 4096
_ENDLESS: Final = float("inf")


class _Token(NamedTuple):
    verified: Verified[BearerClaims]
    caller: Caller | None


class _Acting(NamedTuple):
    """The caller of a token of an agent, and the data that made it: it counts only for the same objects."""

    made_of: tuple[DelegationRecord, KeyRecord, Caller, Caller]
    caller: Caller


class TokenSubjects:
    """Finds the callers of tokens by the followed data; keeps those of at most 4,096 tokens."""

    def __init__(self, state: FollowedState, lease: Lease) -> None:
        self._state = state
        self._lease = lease
        self._tokens: dict[str, _Token] = {}
        self._acting: dict[str, _Acting] = {}
        self._callers = TokenCallers(_MOST_TOKENS)
        self._held: dict[tuple[str, ...], HeldCodes] = {}

    def forget(self) -> None:
        """Empty the caches: the policy or the keys of tokens have changed."""
        self._tokens.clear()
        self._acting.clear()
        self._held.clear()

    def codes(self, codes: tuple[str, ...]) -> HeldCodes:
        """Return one object for equal codes, so that decisions cached by it are found."""
        held = self._held.get(codes)
        if held is None:
            held = self._held[codes] = HeldCodes(codes)
        return held

    def caller(self, token: str, now: float) -> tuple[Caller | None, float]:
        """Return the caller of a token, None for a refused one, and the expiry of this result."""
        known = self._tokens.get(token) or self._verified(token)
        if known is None:
            return None, now  # the token may become valid
        claims = known.verified.claims
        if not known.verified.begins <= now < claims.exp:
            return None, _ENDLESS if claims.exp <= now else known.verified.begins
        if claims.tl != self._state.restore_epoch.name:
            return None, _ENDLESS
        user = self._state.users.get(int(claims.sub))
        if user is None or not self._state.is_active(user, now):
            return None, now
        return self._of_claims(token, known, now)

    def _of_claims(self, token: str, known: _Token, now: float) -> tuple[Caller | None, float]:
        claims = known.verified.claims
        if isinstance(claims, DelegatedClaims):
            return self._of_agent(token, claims, now)
        if isinstance(claims, ClientClaims):
            return self._of_client(claims, now)
        return (known.caller, claims.exp) if self._is_in_session(claims) else (None, _ENDLESS)

    def _is_in_session(self, claims: AccessClaims) -> bool:
        """Return true if neither the token's session nor its user's earlier tokens were revoked."""
        issued = round(claims.iat * 1000)
        state = self._state
        if not claims.sid or claims.auth_time is UNSET or claims.sid in state.ended:
            return False
        mark = state.marked.get(int(claims.sub))
        return issued > state.whole_since and (mark is None or issued > mark.until)

    def _of_client(self, claims: ClientClaims, now: float) -> tuple[Caller | None, float]:
        key = self._state.keys.get(int(claims.client_id))
        account = self._state.caller(int(claims.sub), now)
        if key is None or account is None or str(key.user_id) != claims.sub:
            return None, now
        if key.ends is not None and key.ends <= now:
            return None, _ENDLESS
        caller, until = account
        held = caller.held.codes
        if key.scopes is not None:
            held = intersection(held, key.scopes)
        codes = tuple(sorted(intersection(held, claims.scope.split())))
        ends = min(claims.exp, until, _ENDLESS if key.ends is None else key.ends)
        made = Caller(
            caller.user_id,
            caller.login_id,
            caller.user_name,
            "",
            f"key:{key.id}",
            (),
            self.codes(codes),
            0.0,
            "service",
            caller.service,
            key.id,
            limited_to_nothing=key.scopes is not None and not key.scopes,
        )
        return made, ends

    def _of_agent(self, token: str, claims: DelegatedClaims, now: float) -> tuple[Caller | None, float]:
        """Return the person for whom an agent acts, and the expiry; None as the hub refuses the token.

        Also None without a lease, whatever ``last_known`` is: a delegation may have ended.
        """
        state = self._state
        user_id, agent_id = int(claims.sub), int(claims.act.sub)
        agent = state.agents.get(agent_id)
        delegation = state.delegations.get(user_id, {}).get(int(claims.delegation))
        key = state.keys.get(int(claims.client_id))
        if not state.acting or not self._lease.holds() or agent is None or delegation is None or key is None:
            return None, now
        if delegation.agent_id != agent_id or key.user_id != agent_id:
            return None, now
        parties = [state.caller(each, now) for each in (user_id, agent_id, agent.owner)]
        active = [each for each in parties if each is not None]
        ends = [claims.exp, delegation.ends, *(until for _, until in active)]
        if key.ends is not None:
            ends.append(key.ends)
        until = min(ends)
        if len(active) < len(parties) or until <= now:
            return None, now
        person, acting = active[0][0], active[1][0]
        if person.kind != "person" or acting.kind != "service":
            return None, now
        made_of = delegation, key, person, acting
        known = self._acting.get(token)
        if known is None or any(old is not new for old, new in zip(known.made_of, made_of, strict=True)):
            terms = Terms(delegation.codes, delegation.ask_me, delegation.services, key.scopes)
            known = _Acting(made_of, delegated_caller(claims, terms, person, acting))
            if len(self._acting) >= _MOST_TOKENS:
                self._acting.clear()
            self._acting[token] = known
        return known.caller, until

    def _verified(self, token: str) -> _Token | None:
        verifier, policy = self._state.verifier, self._state.policy
        if verifier is None or policy is None or not token.isascii():
            return None
        try:
            verified: Verified[BearerClaims] = verifier.verify(
                token, AccessClaims, ClientClaims, DelegatedClaims
            )
            caller = self._callers.of(verified.claims, policy.permission_map)
        except Refusal:
            return None
        if len(self._tokens) >= _MOST_TOKENS:
            self._tokens.clear()
        known = self._tokens[token] = _Token(verified, caller)
        return known
