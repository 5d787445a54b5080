"""Strength of an authentication, and the words of the policy that it satisfies.

The caller of the layer ``assurance`` is the set of words that the caller satisfies at this instant::

    @phishing-resistant  >  @two-factors  >  @login  >  @initial  >  @anyone

A word includes all behind it. The first three also come with an age, such as ``@two-factors-within-15m``: the
proof that the word rests on is at most that old. ``-within-15m`` includes ``-within-12h``, which includes the
word without an age. ``@service`` is satisfied by service accounts alone, which log in nowhere. An API key of
a person satisfies ``@login`` without an age, and no word about factors.
``@current-password`` is satisfied by a person alone who has sent the right current password with the request
itself.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import lru_cache
from math import inf
from typing import Final, Literal, NamedTuple, TypeAlias, get_args

Acr: TypeAlias = Literal["pwd", "mfa", "phr"]
"""Strength of an authentication (claim ``acr``): password alone, two factors, or phishing-resistant (``phr``
of OpenID EAP ACR Values).
"""

STRENGTHS: Final[tuple[Acr, ...]] = get_args(Acr)
"""The same, from the weakest to the strongest."""

ANYONE: Final = "@anyone"
INITIAL: Final = "@initial"
LOGIN: Final = "@login"
TWO_FACTORS: Final = "@two-factors"
PHISHING_RESISTANT: Final = "@phishing-resistant"
SERVICE: Final = "@service"
CURRENT_PASSWORD: Final = "@current-password"  # noqa: S105 - a word
PERSONAL_KEY: Final = "@personal-key"
"""Marks the words of an API key of a person; no line may have it, so it opens nothing."""

AGES: Final = {"-within-15m": 900, "-within-12h": 43_200}
"""The ages that end a word, with their seconds; the shortest first."""

Word: TypeAlias = Literal[
    "@anyone",
    "@initial",
    "@login",
    "@login-within-12h",
    "@login-within-15m",
    "@two-factors",
    "@two-factors-within-12h",
    "@two-factors-within-15m",
    "@phishing-resistant",
    "@phishing-resistant-within-12h",
    "@phishing-resistant-within-15m",
    "@service",
    "@current-password",
]

_CHAIN: Final = (LOGIN, TWO_FACTORS, PHISHING_RESISTANT)
_REACHED: Final = dict(zip(STRENGTHS, range(1, 4), strict=True))

WORDS: Final[tuple[Word, ...]] = get_args(Word)
"""All words of the layer ``assurance``, each kind from the weakest to the strongest."""

OF_PERSONS: Final = WORDS[2:-2]
"""The words that a person satisfies by logging in, or by proving more, from the weakest to the strongest."""

Demand: TypeAlias = Literal[
    "login",
    "login-within-12h",
    "login-within-15m",
    "two-factors",
    "two-factors-within-12h",
    "two-factors-within-15m",
    "phishing-resistant",
    "phishing-resistant-within-12h",
    "phishing-resistant-within-15m",
]
"""Demands on persons who use a resource: the words ``OF_PERSONS`` without the @."""

_MARGIN: Final = 60  # seconds by which clocks may differ


@dataclass(frozen=True, slots=True)
class Authentication:
    """Authentication of a person.

    ``amr`` are the methods (RFC 8176). ``auth_time`` is the time of the proof behind ``acr``, in seconds
    since the epoch; 0 for an unknown time, which satisfies no age. ``initial``: the password is initial, and
    its owner has to change it first.
    """

    acr: Acr = "pwd"
    amr: tuple[str, ...] = ("pwd",)
    auth_time: float = 0.0
    initial: bool = False


NAMED: Final = Authentication()
"""A user questioned by name: as if logged in with a password, at an unknown time."""
OF_PERSONAL_KEY: Final = Authentication(amr=("key",))
"""The authentication of a person by an API key."""


class Satisfied:
    """The words that a caller satisfies: the caller of the layer ``assurance``; immutable.

    There is one object for each set of words, compared by identity. ``codes`` are the words: they stand for
    the codes that are held in other layers.
    """

    __slots__ = ("asked_as", "codes")

    codes: frozenset[str]

    def __init__(self, *words: str) -> None:
        self.codes = self.asked_as = frozenset(words)

    def __repr__(self) -> str:
        return f"Satisfied({', '.join(sorted(self.codes))})"


def _including(reached: int, ages: tuple[str, ...]) -> Satisfied:
    return Satisfied(ANYONE, INITIAL, *(f"{word}{age}" for word in _CHAIN[:reached] for age in ("", *ages)))


_NOBODY: Final = Satisfied(ANYONE)
_INITIAL: Final = Satisfied(ANYONE, INITIAL)
_BY_KEY: Final = Satisfied(ANYONE, SERVICE)
BY_PERSONAL_KEY: Final = Satisfied(ANYONE, INITIAL, LOGIN, PERSONAL_KEY)
_PROVING: Final = Satisfied(ANYONE, CURRENT_PASSWORD)
_YOUNG, _RECENT, _OLD = (
    {acr: _including(reached, ages) for acr, reached in _REACHED.items()}
    for ages in (tuple(AGES), tuple(AGES)[1:], ())
)

EVERY_CALLER: Final[tuple[Satisfied, ...]] = (
    _NOBODY,
    _INITIAL,
    *(by_acr[acr] for acr in _REACHED for by_acr in (_OLD, _RECENT, _YOUNG)),
    _BY_KEY,
    _PROVING,
)
"""The sets of words that callers may satisfy, each kind from the weakest to the strongest.

A caller who proves the current password also satisfies the words of the session: a union of two of these. The
words of an object are alternatives, so a union passes exactly where one of the two sets does.
"""

EVER_DECIDED: Final[tuple[Satisfied, ...]] = (*EVERY_CALLER, BY_PERSONAL_KEY)
"""All sets about which the enforcer is asked. The last one passes where a login without an age passes."""

BY_STRONGEST: Final[dict[str, Satisfied]] = {max(each.codes, key=WORDS.index): each for each in EVERY_CALLER}
"""The same, by the strongest word of each."""


def words_of(demand: str | None, *, services: bool) -> tuple[str, ...]:
    """Return the words of the lines that make ``demand``, in order; None demands nothing.

    ``services``: service accounts pass too.
    """
    if demand is None:
        return (ANYONE,)
    return tuple(sorted((f"@{demand}", *((SERVICE,) if services else ()))))


def opens_more(before: Collection[str], after: Collection[str]) -> bool:
    """Return True if a caller exists who satisfies one of the words ``after``, and none of ``before``."""
    return any(not each.codes.isdisjoint(after) and each.codes.isdisjoint(before) for each in EVERY_CALLER)


def words_at(authentication: Authentication | None, now: float, *, by_key: bool = False) -> Satisfied:
    """Return the words satisfied at ``now``, in seconds since the epoch.

    ``by_key``: a service account, which satisfies ``@service`` and no word for persons. Without an
    authentication only ``@anyone`` is satisfied. A proof from the future, beyond the allowed clock skew,
    satisfies no age.
    """
    if by_key:
        return _BY_KEY
    if authentication is None:
        return _NOBODY
    if authentication is OF_PERSONAL_KEY:
        return BY_PERSONAL_KEY
    if authentication.initial:
        return _INITIAL
    age = now - authentication.auth_time
    if age >= AGES["-within-12h"] or age < -_MARGIN:
        return _OLD[authentication.acr]
    return (_YOUNG if age < AGES["-within-15m"] else _RECENT)[authentication.acr]


def words_until(authentication: Authentication | None, now: float) -> float:
    """Return an instant before which ``words_at`` stays what it is at ``now``; infinity for ever."""
    proved = inf if authentication is None else authentication.auth_time
    ends = (proved - _MARGIN, *(proved + seconds for seconds in AGES.values()))
    return min((end for end in ends if end > now), default=inf)


@lru_cache(len(_REACHED) * (len(AGES) + 1))
def _with_password(session: Satisfied) -> Satisfied:
    return Satisfied(*session.codes, *_YOUNG["pwd"].codes, CURRENT_PASSWORD)


def words_proving(authentication: Authentication, now: float) -> Satisfied:
    """Return the words satisfied at ``now`` by a person who sent the right current password with the request.

    An initial password no longer limits the session: the result has the words of its other proofs, and of a
    login just now.
    """
    return _with_password(words_at(replace(authentication, initial=False), now))


class Challenge(NamedTuple):
    """Authentication challenge: the client needs one of ``acr_values`` (RFC 9470 §3).

    ``max_age`` is the maximum age of its proof in seconds; None for any age.
    """

    acr_values: tuple[Acr, ...]
    max_age: int | None


def step_up(required: Collection[str], satisfied: Collection[str] | None) -> Challenge | None:
    """Return the challenge by which a caller who satisfies ``satisfied`` gets one of ``required``.

    None if stepping up does not help: for anonymous callers, for API keys, and for demands other than a login
    of a person.
    """
    if satisfied is None or SERVICE in satisfied or PERSONAL_KEY in satisfied:
        return None
    return challenge_of(required)


def challenge_of(required: Collection[str]) -> Challenge | None:
    """Return the challenge for one of the words ``required``: the weakest; None if no person can meet it."""
    word = next((word for word in OF_PERSONS if word in required), None)
    if word is None:
        return None
    max_age = next((seconds for age, seconds in AGES.items() if word.endswith(age)), None)
    reached = _CHAIN.index(next(each for each in reversed(_CHAIN) if word.startswith(each)))
    return Challenge(STRENGTHS[reached:], max_age)
