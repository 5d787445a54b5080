"""The settings of login: tokens and device sessions."""

from dataclasses import dataclass
from typing import Literal

from service.settings.checks import between, field_name, hard_to_guess, not_empty, token_prefix
from service.settings.table import setting
from service.settings.values import OptionalPath, OptionalTime

Algorithm = Literal["HS256", "HS384", "HS512", "RS256", "RS384", "RS512", "ES256", "ES384", "EdDSA"]
"""The signature algorithms of RFC 7518 §3 and RFC 8037 §3.1 that tokens may use."""

_YEAR = 31_536_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Auth:
    """Login, tokens and device sessions."""

    access_timeout: int = setting(7200, unit="s", check=between(1, _YEAR), help="Life of an access token.")
    client_timeout: int = setting(
        900,
        unit="s",
        check=between(1, 86_400),
        help="Life of an access token that an API key was exchanged for; it does not outlive its key.",
    )
    personal_key_max: int = setting(
        7_776_000,
        unit="s",
        check=between(60, _YEAR),
        help="Longest life of an API key that a person makes for their own account.",
    )
    delegation_max: int = setting(
        86_400,
        unit="s",
        check=between(60, _YEAR),
        help="Longest life of a delegation by which an agent acts for a person.",
    )
    refresh_timeout: int = setting(
        604_800,
        unit="s",
        check=between(1, _YEAR),
        help="Life of a refresh token; each refresh restarts it.",
    )
    session_max_age: int = setting(
        2_592_000,
        unit="s",
        check=between(1, 10 * _YEAR),
        help="Longest life of a device session, however often it is refreshed.",
    )
    refresh_race_window: int = setting(
        10,
        unit="s",
        check=between(2, 300),
        help="A used refresh token that comes back within this time is refused as `superseded` and nothing "
        "else happens (two tabs racing). Later it counts as theft: the device session ends. Neither holds "
        "while nobody was handed its successor: then a repeat gets that, at any age. It must be more "
        "than `redis.timeout` and one second, which handing it out may take.",
    )
    refresh_grace: int = setting(
        0,
        unit="s",
        check=between(0, 300),
        help="A refresh repeated within this time returns the same successor. 0: a refresh token works once.",
    )
    concurrent_login: bool = setting(
        default=True,
        help="Whether a user may be logged in on several devices. `false`: a login ends all other sessions.",
    )
    max_devices: int = setting(
        5, check=between(1, 1000), help="Device sessions of one user; one more login ends the earliest."
    )
    event_streams: int = setting(
        3, check=between(1, 100), help="Event streams of one device session; one more is refused with 429."
    )
    per_request_deny_check: bool = setting(
        default=True,
        help="Ask the session store on each request for the user's deny marker and device session, in one "
        "round trip that all requests in flight share. `false` saves that round trip, and an access token "
        "then works until it expires: logout, kick, ban, disabling and changed permissions take effect only "
        "after up to `access_timeout`. Refreshes are always checked.",
    )
    is_read_cookie: bool = setting(
        default=False,
        help="Cookie mode: tokens travel in cookies as well, and state-changing requests need a CSRF proof. "
        "`false`: no cookie is read or set.",
    )
    cookie_secure: bool = setting(
        default=True,
        help="Cookie mode: cookies travel over TLS only, and their names start with `__Host-`. `false`: for "
        "plain HTTP on a development machine.",
    )
    cookie_same_site: Literal["Strict", "Lax"] = setting(
        "Strict",
        help="Cookie mode: whether browsers send the cookies when a link on another site is followed: "
        "`Strict` (no) or `Lax` (yes).",
    )
    token_name: str = setting(
        "Authorization", check=field_name, help="The request header that carries the access token."
    )
    token_prefix: str = setting(
        "Bearer ", check=token_prefix, help="The text before the token in that header, including the space."
    )
    jwt_audience: str = setting(
        "portcullis", check=not_empty, help="The `aud` claim, required in every token."
    )
    jwt_issuer: str = setting("portcullis", check=not_empty, help="The `iss` claim, required in every token.")
    jwt_algorithm: Algorithm = setting(
        "HS256",
        help="The only signature algorithm: HS256, HS384, HS512, RS256, RS384, RS512, ES256, ES384 or EdDSA. "
        "A token signed with any other is refused.",
    )
    jwt_secret: str = setting(
        "",
        env="JWT_SECRET",
        secret=True,
        shown="with embedded stores only: random, kept in the data directory",
        help="The key of the HS algorithms, at least as long as the hash (RFC 7518 §3.2): 32 bytes for "
        "HS256, 48 for HS384, 64 for HS512. Required once an external database or session store is set.",
    )
    jwt_private_key: OptionalPath = setting(
        None,
        help="PEM file of the private key, for the RS, ES and EdDSA algorithms; only its owner may read it.",
    )
    jwt_public_key: OptionalPath = setting(
        None, help="PEM file of the public key, for the RS, ES and EdDSA algorithms."
    )
    jwt_previous_secret: str = setting(
        "",
        secret=True,
        help="The previous key of the HS algorithms, accepted until `jwt_previous_until`; or the next one, "
        "while it is brought to all nodes. Remove it at once if it was stolen.",
    )
    jwt_previous_private_key: OptionalPath = setting(
        None, help="The same for the RS, ES and EdDSA algorithms: the PEM file of that private key."
    )
    jwt_previous_until: OptionalTime = setting(
        None,
        help="Until when the previous key is accepted, as RFC 3339, such as `2026-11-30T12:00:00Z`: when the "
        "last token signed with it has expired. Required with a previous key.",
    )
    factor_key: str = setting(
        "",
        secret=True,
        check=hard_to_guess,
        shown="with an embedded database only: random, kept in the data directory",
        help="The key that the secrets of authenticator apps are encrypted with in the database. All nodes "
        "must have the same. Without it nobody can set up an app as a second factor; passkeys need no key.",
    )
    factor_previous_key: str = setting(
        "",
        secret=True,
        check=hard_to_guess,
        help="The key before, while `factor_key` is replaced: a job encrypts what it has encrypted anew. Or "
        "the next one, while it is brought to all nodes. Remove it once `doctor` says that nothing needs it.",
    )
    link_timeout: int = setting(
        86_400,
        unit="s",
        check=between(300, 604_800),
        help="How long a link is good that the owner of an account is sent: an invitation, one for a "
        "forgotten password, or one that confirms an address.",
    )
    dormant_days: int = setting(
        0,
        unit="days",
        check=between(0, 730),
        help="After how many days without a login and without any use an account is dormant: its owner is "
        "notified, and `dormant_grace` later it is disabled, but never the last administrator. 0: "
        "never.",
    )
    dormant_grace: int = setting(
        14,
        unit="days",
        check=between(1, 90),
        help="How many days the owner of a dormant account has from the notice until it is disabled; no more "
        "than `dormant_days`.",
    )
    forward_assertion: bool = setting(
        default=False,
        help="Forward authentication: also send `X-Portcullis-Assertion`, who asks and what was decided, "
        "signed for the guarded service and valid for 60 s. Needs an RS, ES or EdDSA algorithm.",
    )
    jwt_leeway: int = setting(
        5,
        unit="s",
        check=between(0, 60),
        help="How far in the future, by the session store's clock, an `iat` may lie. The log and "
        "`/health/ready` report a machine whose own clock differs from the store's by more.",
    )
