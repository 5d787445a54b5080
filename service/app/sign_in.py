"""Authentication in a worker: identification of callers, and sign-in."""

from dataclasses import dataclass

from service.app.audit_trail import Trail
from service.app.policy import PolicyParts
from service.app.stores import Stores
from service.authn.agent_callers import AgentCallers, agent_callers_of
from service.authn.authenticate import Authenticator
from service.authn.current_rights import CurrentRights
from service.authn.key_callers import KeyCallers, key_callers_of, personal_key_uses
from service.authn.login_service import LoginService
from service.authn.opening import SessionOpening
from service.authn.password_change import PasswordChange
from service.authn.password_rules import InitialPasswords, PasswordRules
from service.authn.passwords import Passwords
from service.authn.proving import ClosedPasswords
from service.authn.refresh import Refresh
from service.authn.revocations import Revocations
from service.authn.second_factors import SecondFactors, second_factors_of
from service.authn.sessions import Sessions
from service.authn.throttle import Throttle
from service.authn.token_issuer import TokenIssuer
from service.authn.tokens import Tokens
from service.kernel.notify import Notices
from service.settings import Settings
from service.web.messages.cookies import Cookies


@dataclass(frozen=True, slots=True, kw_only=True)
class SignIn:
    """Services that create, verify and revoke tokens and sessions."""

    passwords: Passwords
    closed_passwords: ClosedPasswords
    password_rules: PasswordRules
    password_change: PasswordChange
    tokens: Tokens
    throttle: Throttle
    logins: LoginService
    second_factors: SecondFactors
    refresh: Refresh
    sessions: Sessions
    revocations: Revocations
    key_callers: KeyCallers
    agent_callers: AgentCallers | None
    authenticator: Authenticator
    current_rights: CurrentRights
    cookies: Cookies


def make(settings: Settings, stores: Stores, policy: PolicyParts, trail: Trail, notices: Notices) -> SignIn:
    """Return the services that authenticate the requests of the worker."""
    auth = settings.auth
    database = stores.database
    store = stores.sessions
    log = trail.logins
    now = store.synchronized.now
    passwords, rules = Passwords(settings.password), PasswordRules(settings.password)
    closed = ClosedPasswords(settings.oidc)
    throttle = Throttle(settings.throttle, store.counters)
    second = second_factors_of(settings, database, store, notices)
    tokens = Tokens(auth, now, policy.live.restore_epoch)
    initial = InitialPasswords(settings.password)
    pairs = TokenIssuer(database, tokens, lambda: policy.live.current.permission_map, initial)
    revocations = Revocations(database, store, log)
    personal = personal_key_uses(database, notices, settings.features.off)
    key_callers = key_callers_of(database, store, throttle, now, personal)
    current_rights = CurrentRights(database, store)
    agents = agent_callers_of(database, store, current_rights, settings.features.off)
    refresh = Refresh(database, store, tokens, pairs, log=log, notices=notices)
    return SignIn(
        passwords=passwords,
        closed_passwords=closed,
        password_rules=rules,
        password_change=PasswordChange(
            database=database,
            store=store,
            passwords=passwords,
            rules=rules,
            initial=initial,
            throttle=throttle,
            revocations=revocations,
            notices=notices,
            log=log,
        ),
        tokens=tokens,
        throttle=throttle,
        logins=LoginService(
            database,
            passwords,
            SessionOpening(database, store, pairs, second),
            throttle,
            log,
            initial=initial,
            notices=notices,
            closed=closed,
        ),
        second_factors=second,
        refresh=refresh,
        sessions=Sessions(store, log),
        revocations=revocations,
        key_callers=key_callers,
        agent_callers=agents,
        authenticator=Authenticator(auth, tokens, store, key_callers, agents),
        current_rights=current_rights,
        cookies=Cookies(auth, now),
    )
