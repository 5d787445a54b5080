"""Permission codes: their grammar, and the set of codes that a caller holds.

A code is segments of ``[a-z0-9_-]+`` joined by ``:``; a ``*`` may stand for a whole segment of a *held*
code. ``HeldCodes`` sorts a caller's codes into the rows of the wildcard table once, so that each
predicate of ``model.conf`` is one look-up:

========================  =====================================================================
held code                 grants
========================  =====================================================================
``system:user:list``      exactly itself
``*``                     every code
``system:*``              every code below ``system``, at any depth of at least one segment
``system:*:list``         codes of the same length, one non-empty segment for each middle ``*``
========================  =====================================================================

A ``*`` inside a longer segment (``sys*``) is a literal. No wildcard ever grants an ``@`` word or a code
with an empty segment.
"""

import re
from collections.abc import Hashable, Iterable
from typing import Final, NamedTuple

CODE = re.compile(r"(?:[a-z0-9_-]+|\*)(?::(?:[a-z0-9_-]+|\*))*")
MAX_CODE_LENGTH = 128
MOST_LINKED = 10_000
"""The most Menus, or Buttons, that the API, tables and state files link to one role or resource."""


def is_code(text: str) -> bool:
    """True if ``text`` is a permission code of at most 128 characters; wildcards count as codes."""
    return len(text) <= MAX_CODE_LENGTH and CODE.fullmatch(text) is not None


def may_grant(codes: Iterable[str], code: str) -> list[str]:
    """Return those of the held ``codes`` that may grant ``code``: itself, and all with a wildcard."""
    return [held for held in codes if held == code or "*" in held]


def segments_of(code: str) -> tuple[str, ...] | None:
    """Return the segments of a *required* code, or None if no wildcard may grant it.

    That is so for ``@`` words and for codes with an empty segment: only their exact text grants those.
    """
    if not code or code[0] == "@":
        return None
    segments = tuple(code.split(":"))
    return segments if all(segments) else None


class HeldCodes:
    """The codes that a caller holds; immutable, compared and hashed as a set."""

    __slots__ = ("_hash", "asked_as", "codes", "everything", "patterns", "subtrees")

    asked_as: Hashable
    """The key of a cached answer to these codes: equal keys have equal answers."""
    codes: frozenset[str]
    everything: bool
    subtrees: frozenset[tuple[str, ...]]
    patterns: tuple[tuple[tuple[str, ...], bool], ...]

    def __init__(self, codes: Iterable[str] = ()) -> None:
        self.codes = self.asked_as = frozenset(codes)
        self._hash = hash(self.codes)
        self.everything = "*" in self.codes
        subtrees, patterns = [], []
        for code in sorted(self.codes - {"*"}):
            segments = tuple(code.split(":"))
            trailing = segments[-1] == "*"
            head = segments[:-1] if trailing else segments
            if not all(segments):
                continue  # an empty segment grants only its exact text
            if "*" in head:
                patterns.append((head, trailing))
            elif trailing:
                subtrees.append(head)
        self.subtrees = frozenset(subtrees)
        self.patterns = tuple(patterns)

    def holds_exactly(self, code: str) -> bool:
        """True if ``code`` itself is held; an ``@`` word never is."""
        return code in self.codes and code[:1] != "@"

    def holds_everything(self, code: str) -> bool:
        """True if a held ``*`` grants ``code``."""
        return self.everything and segments_of(code) is not None

    def holds_subtree(self, code: str) -> bool:
        """True if a held ``a:b:*`` grants ``code``."""
        if not self.subtrees or (segments := segments_of(code)) is None:
            return False
        return any(segments[:depth] in self.subtrees for depth in range(1, len(segments)))

    def holds_pattern(self, code: str) -> bool:
        """True if a held code with a ``*`` before its last segment grants ``code``."""
        if not self.patterns or (segments := segments_of(code)) is None:
            return False
        return any(_fits(head, trailing, segments) for head, trailing in self.patterns)

    def holds(self, code: str) -> bool:
        """True if a held code grants ``code`` in any way."""
        return (
            self.holds_exactly(code)
            or self.holds_everything(code)
            or self.holds_subtree(code)
            or self.holds_pattern(code)
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, HeldCodes) and self.asked_as == other.asked_as

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"HeldCodes({sorted(self.codes)})"


class Ceiling(NamedTuple):
    """A further caller who must be allowed too: ``by`` names it, ``codes`` are those that it asks with.

    ``BY_APPROVAL`` asks with the codes of ``BY_DELEGATION`` except its own: see ``ExceptCodes``.
    """

    by: str
    codes: frozenset[str]


BY_KEY: Final = "key"
"""The ceiling of an API key of a person: its scopes."""
BY_AGENT: Final = "agent"
"""The ceiling of an agent that acts for a person: the codes of its roles, within the scopes of its key."""
BY_DELEGATION: Final = "delegation"
"""The ceiling of a delegation to an agent: its codes."""
BY_APPROVAL: Final = "approval"
"""The ceiling of a call that its person has not approved: codes of which each use needs an approval.

It denies each object that no other code of the delegation opens, and that is closed without a code.
"""
NO_CODES: Final = HeldCodes()
"""A caller with a session, and without a code."""


class ExceptCodes(HeldCodes):
    """The codes ``held`` except ``excluded``: no permission code that ``excluded`` grants is held.

    Patterns have no exact difference, so each code of a line is looked up in both.
    """

    __slots__ = ("excluded",)

    def __init__(self, held: Iterable[str], excluded: Iterable[str]) -> None:
        super().__init__(held)
        self.excluded = HeldCodes(excluded)
        self.asked_as = (self.codes, "except", self.excluded.codes)
        self._hash = hash(self.asked_as)

    def holds_exactly(self, code: str) -> bool:
        """Return the answer of ``HeldCodes``; False for an excluded code."""
        return super().holds_exactly(code) and not self.excluded.holds(code)

    def holds_everything(self, code: str) -> bool:
        """Return the answer of ``HeldCodes``; False for an excluded code."""
        return super().holds_everything(code) and not self.excluded.holds(code)

    def holds_subtree(self, code: str) -> bool:
        """Return the answer of ``HeldCodes``; False for an excluded code."""
        return super().holds_subtree(code) and not self.excluded.holds(code)

    def holds_pattern(self, code: str) -> bool:
        """Return the answer of ``HeldCodes``; False for an excluded code."""
        return super().holds_pattern(code) and not self.excluded.holds(code)

    def __repr__(self) -> str:
        return f"ExceptCodes({sorted(self.codes)}, {sorted(self.excluded.codes)})"


class BoundedCodes(HeldCodes):
    """The codes of a caller with ceilings: the policy asks each question of ``account`` and of each ceiling.

    All of them must be allowed, so no ceiling adds a right. ``codes`` are those that all of them grant: code
    that asks no policy, such as a list of the caller's permissions, sees no more than the policy allows.
    """

    __slots__ = ("account", "callers", "ceilings")

    def __init__(self, account: Iterable[str], ceilings: Iterable[Ceiling]) -> None:
        self.account = HeldCodes(account)
        self.ceilings = tuple(ceilings)
        delegated = [
            code for ceiling in self.ceilings if ceiling.by == BY_DELEGATION for code in ceiling.codes
        ]
        self.callers = (
            self.account,
            *(
                ExceptCodes(delegated, ceiling.codes)
                if ceiling.by == BY_APPROVAL
                else HeldCodes(ceiling.codes)
                for ceiling in self.ceilings
            ),
        )
        """Those whom the policy is asked about: the account, then each ceiling."""
        codes = self.account.codes
        for ceiling in self.ceilings:
            if ceiling.by != BY_APPROVAL:
                codes = intersection(codes, ceiling.codes)
        super().__init__(codes)
        self.asked_as = (self.account.codes, self.ceilings)
        self._hash = hash(self.asked_as)

    def approved(self) -> "HeldCodes":
        """Return the same caller for a call that its person has approved."""
        return bounded(self.account.codes, (each for each in self.ceilings if each.by != BY_APPROVAL))

    def __repr__(self) -> str:
        return f"BoundedCodes({self.account}, {self.ceilings})"


def account_codes(held: HeldCodes) -> frozenset[str]:
    """Return the codes of the account behind ``held``, without its ceilings."""
    return held.account.codes if isinstance(held, BoundedCodes) else held.codes


def ceilings_of(held: HeldCodes | None) -> tuple[Ceiling, ...]:
    """Return the ceilings of a caller; none for a session, an API key of a program and no caller."""
    return held.ceilings if isinstance(held, BoundedCodes) else ()


def bounded(codes: Iterable[str], ceilings: Iterable[Ceiling]) -> HeldCodes:
    """Return the codes of a caller within ``ceilings``."""
    ceilings = tuple(ceilings)
    return BoundedCodes(codes, ceilings) if ceilings else HeldCodes(codes)


def intersection(first: Iterable[str], second: Iterable[str]) -> frozenset[str]:
    """Return codes that grant exactly the codes granted by both ``first`` and ``second``.

    The intersection of two held codes is one code, or empty. So the result is exact, also for future required
    codes, and has at most as many codes as pairs exist.
    """
    others = tuple(second)
    common = {_common(left, other) for left in first for other in others}
    return frozenset(code for code in common if code is not None)


def _common(first: str, second: str) -> str | None:
    """Return the code granted by both held codes; None if they share none."""
    short, long = sorted((first.split(":"), second.split(":")), key=len)
    if not (all(short) and all(long)):
        return first if first == second else None
    if len(short) < len(long):
        if short[-1] != "*":
            return None
        # A last * stands for one segment or more.
        short = [*short, *["*"] * (len(long) - len(short))]
    segments = []
    for segment, other in zip(short, long, strict=True):
        if segment != other and "*" not in (segment, other):
            return None
        segments.append(other if segment == "*" else segment)
    return ":".join(segments)


def _fits(head: tuple[str, ...], trailing: bool, segments: tuple[str, ...]) -> bool:
    if trailing:
        if len(segments) <= len(head):
            return False
    elif len(segments) != len(head):
        return False
    return all(want in ("*", have) for want, have in zip(head, segments, strict=False))
