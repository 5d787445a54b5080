"""The wildcard table, tried whole on a small alphabet against an oracle made of regular expressions."""

import re
from itertools import product

from service.authz.engine.enforcer import IndexedEnforcer
from service.authz.engine.predicates import PREDICATES
from service.authz.engine.rules import Rule
from service.kernel.codes import HeldCodes, may_grant
from tests.policies.stock import MODEL

SEGMENTS = ("a", "b", "*", "")
WORDS = (
    "@anyone",
    "@login",
    "@nobody",
    "@unregistered",
    "@",
    "@a:b",
    "@a:*",
    "@:*",
    "sys*",
    "*s",
    "a*:b",
    "a:b*",
    "**",
)


def codes(longest: int) -> list[str]:
    joined = [
        ":".join(parts) for length in range(1, longest + 1) for parts in product(SEGMENTS, repeat=length)
    ]
    return [*joined, *WORDS]


def opens(held: str, required: str) -> bool:
    """Say what docs/explanation/policy.md says, in other words than the code: a held code is a pattern."""
    if required == "" or required.startswith("@"):
        return False
    if held == required:
        return True
    if "" in held.split(":") or "" in required.split(":"):
        return False
    *head, last = held.split(":")
    parts = ["[^:]+" if part == "*" else re.escape(part) for part in head]
    parts.append("[^:]+(?::[^:]+)*" if last == "*" else re.escape(last))
    return re.fullmatch(":".join(parts), required) is not None


def by_predicates(held: HeldCodes, required: str) -> bool:
    return any(PREDICATES[name](held, required) for name in PREDICATES if name != "isLoggedIn")


def test_the_four_rows_open_what_the_oracle_opens_for_every_pair_of_codes_of_up_to_four_segments() -> None:
    required = codes(4)
    differing = [
        (held, code)
        for held in codes(3)
        for holder in [HeldCodes([held])]
        for code in required
        if by_predicates(holder, code) is not opens(held, code)
    ]

    assert differing == []


def test_four_held_segments_open_what_the_oracle_opens() -> None:
    required = codes(3)
    differing = [
        (held, code)
        for held in codes(4)
        for holder in [HeldCodes([held])]
        for code in required
        if by_predicates(holder, code) is not opens(held, code)
    ]

    assert differing == []


def test_the_matcher_opens_a_line_to_a_holder_as_the_oracle_does() -> None:
    required = codes(2)
    enforcer = IndexedEnforcer(
        MODEL.read_text("utf-8"), [Rule("endpoint", f"GET /{at}", code) for at, code in enumerate(required)]
    )
    differing = [
        (held, code)
        for held in codes(2)
        for holder in [HeldCodes([held])]
        for at, code in enumerate(required)
        if enforcer.enforce("endpoint", f"GET /{at}", holder)
        is not (opens(held, code) or code in ("@anyone", "@login"))
    ]

    assert differing == []


def test_two_held_codes_open_exactly_what_either_opens() -> None:
    some = codes(2)
    assert all(
        by_predicates(HeldCodes(pair), code) is any(opens(held, code) for held in pair)
        for pair in product(some, repeat=2)
        for code in ("a", "b", "a:b", "a:b:a", "b:a", "@login", "sys*", "a:")
    )


def test_each_row_answers_for_its_own_kind_of_held_code_only() -> None:
    def rows(held: str, required: str) -> list[str]:
        return [
            name
            for name in PREDICATES
            if name != "isLoggedIn" and PREDICATES[name](HeldCodes([held]), required)
        ]

    assert rows("system:user:list", "system:user:list") == ["holdsExactly"]
    assert rows("*", "system:user:list") == ["holdsEverything"]
    assert rows("system:*", "system:user:list") == ["holdsSubtree"]
    assert rows("system:*:list", "system:user:list") == ["holdsPattern"]
    assert rows("system:*:list", "system:user:delete") == []
    assert rows("system:*:list", "system:user:own:list") == []
    assert rows("system:*", "system") == []
    assert rows("sys*", "system:user:list") == []


def test_no_code_is_left_out_that_grants_another() -> None:
    held = codes(3)
    for required in codes(2):
        chosen = set(may_grant(held, required))
        assert [code for code in held if code not in chosen and opens(code, required)] == []
        assert len(chosen) < len(held)
