"""No walk of people over accounts lets one person decide twice, or for themselves: by the rules, and by HTTP.

The rules are those of the service (``service.kernel.persons``, the matching of approvals), put together as it
does. With the relation cut in any one place a walk finds a person who decides as two.
"""

import itertools
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final, get_args

import pytest

from service.kernel.account_acts import CONTROL_ACTS
from service.kernel.persons import ControlAct, Edge, Persons
from service.laboratory.findings import passing
from tests.features.access_requests.person_walk import ACTS, PersonFoundError, Walk
from tests.support.cases import with_each

NOW: Final = datetime(2026, 5, 30, tzinfo=UTC)
STEPS: Final = 60
CUT_EDGES: Final = [act for act in get_args(ControlAct) if act not in ("take_over", "key")]
"""Acts whose edges are cut; nobody writes the first one any more, and that of a key is cut with its maker."""
CUTS: Final = [
    *(f"edge {act}" for act in CUT_EDGES),
    "maker of a key",
    "steps",
    "author",
    "approvers",
    "others' takeovers",
    "emergency",
    "review",
    "sign-off",
]


@dataclass
class Rules:
    """The rules of the service over accounts in memory, with one of them cut."""

    cut: str = ""
    acts: tuple[str, ...] = ACTS
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    edges: list[Edge] = field(default_factory=list)
    requests: dict[int, tuple[int, int, list[int]]] = field(default_factory=dict)
    changes: list[int] = field(default_factory=list)

    def person(self) -> int:
        return next(self.numbers)

    def took(self, by: int, on: int, act: ControlAct, key_of: int | None = None) -> None:
        """Note what ``DelegationCheck.take_over`` notes: of the account, and of who made its key."""
        if self.cut == f"edge {act}":
            return
        holders = {by} if key_of is None or self.cut == "maker of a key" else {by, key_of}
        self.edges += [Edge(holder, on, act, NOW) for holder in sorted(holders - {on})]

    def make(self, by: int, *, key_of: int | None = None) -> int:
        made = next(self.numbers)
        self.took(by, made, "made", key_of)
        return made

    def invite(self, maker: int, by: int) -> int:
        made = next(self.numbers)
        self.took(by, made, "made" if maker == by else "link")
        return made

    def key(self, by: int) -> int:
        account = next(self.numbers)
        if self.cut != "maker of a key":
            self.took(by, account, CONTROL_ACTS["create-key"])
        return account

    def act(self, by: int, on: int, act: str, *, key_of: int | None = None) -> bool:
        acts: dict[str, ControlAct] = {known: known for known in CONTROL_ACTS.values()}
        self.took(by, on, acts.get(act, "hand_over"), key_of)
        return True

    def same(self, first: int, others: list[int]) -> bool:
        edges = self.edges
        if self.cut == "steps":
            edges = [edge for edge in edges if edge.account_id in (first, *others)]
            edges = [edge for edge in edges if edge.holder_id in (first, *others)]
        persons = Persons(edges, {first, *others}, NOW - timedelta(days=30))
        for second in others:
            same = persons.same(first, second)
            joined = same is not None and not self.is_direct(first, second)
            if same is not None and not (joined and self.cut == "others' takeovers"):
                return True
        return False

    def is_direct(self, first: int, second: int) -> bool:
        persons = Persons(self.edges, (), NOW - timedelta(days=30))
        return first == second or first in persons.behind(second) or second in persons.behind(first)

    def ask(self, by: int, approvals: int, *, emergency: bool) -> int:  # noqa: ARG002 - both are noted alike
        number = next(self.numbers)
        self.requests[number] = by, approvals, []
        return number

    def approve(self, by: int, request: int) -> bool | None:
        author, approvals, approved = self.requests[request]
        others = [*([] if self.cut == "author" else [author])]
        others += [] if self.cut == "approvers" else approved
        if by == author or self.same(by, others):
            return None
        approved.append(by)
        alike = [
            frozenset(pair)
            for pair in itertools.combinations(approved, 2)
            if self.cut != "approvers" and self.same(pair[0], [pair[1]])
        ]
        counting = {each: (1,) for each in approved if self.cut == "author" or not self.same(each, [author])}
        return passing.have_passed(counting, [approvals], alike)

    def close(self, by: int, request: int) -> bool:
        author, _, _ = self.requests[request]
        return by != author and (self.cut == "emergency" or not self.same(by, [author]))

    def review(self, by: int, about: int) -> bool:
        return by != about and (self.cut == "review" or not self.same(by, [about]))

    def change(self, by: int) -> bool:
        self.changes.append(by)
        return True

    def sign_off(self, by: int) -> bool:
        if by in self.changes or (self.cut != "sign-off" and self.same(by, self.changes)):
            return False
        self.changes.clear()
        return True


def walked(cut: str, walks: int) -> Counter[str]:
    """Take so many walks by the rules with one of them cut; raises ``PersonFoundError``."""
    done: Counter[str] = Counter()
    for number in range(walks):
        walk = Walk(Rules(cut), random.Random(number), done)
        walk.run(STEPS)
    return done


@pytest.mark.parametrize("walks", [100, pytest.param(2000, marks=pytest.mark.extended)])
def test_no_walk_lets_one_person_decide_twice_or_for_themselves(walks: int) -> None:
    done = walked("", walks)

    # Neither is everything refused, nor everything let through.
    for kind in ("approve True", "approve None", "close True", "close False", "review True", "review False"):
        assert done[kind] > walks // 10, done
    assert done["sign off True"] > walks // 10 < done["sign off False"]


@with_each("cut", CUTS)
def test_with_the_relation_cut_in_one_place_a_walk_finds_a_person_who_decides_as_two(cut: str) -> None:
    with pytest.raises(PersonFoundError):
        walked(cut, 300)
