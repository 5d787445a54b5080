"""Random walks of people over accounts: they make and take over accounts, sign in as them, and decide.

Who has acted is noted beside the walk, by people instead of accounts. A walk in which one person decides
twice, or for themselves, has found a fault.
"""

import itertools
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Protocol

ACTS: Final = ("password", "address", "factor", "hand_over")
"""What is done to an account of somebody else."""


class System(Protocol):
    """A service, or its rules: accounts are numbers, and ``by`` is the account that sends the request."""

    acts: tuple[str, ...]

    def person(self) -> int:
        """Return a new account that nobody has made."""

    def make(self, by: int, *, key_of: int | None = None) -> int | None:
        """Make an account with a password, by an API key that ``key_of`` has made if that is given."""

    def invite(self, maker: int, by: int) -> int | None:
        """Have ``maker`` make an account without a password; ``by`` sees the link, and sets the password."""

    def key(self, by: int) -> int | None:
        """Make a service account with an API key."""

    def act(self, by: int, on: int, act: str, *, key_of: int | None = None) -> bool:
        """Do something to another account; False if it is refused."""

    def ask(self, by: int, approvals: int, *, emergency: bool) -> int | None:
        """Ask for a role; return the request."""

    def approve(self, by: int, request: int) -> bool | None:
        """Approve a request; True if the role is given by it, None if the approval is refused."""

    def close(self, by: int, request: int) -> bool:
        """Close an emergency; False if it is refused."""

    def review(self, by: int, about: int) -> bool:
        """Decide about a role of an account; False if it is refused."""

    def change(self, by: int) -> bool:
        """Publish a change of the policy."""

    def sign_off(self, by: int) -> bool:
        """Sign the newest revision off; False if it is refused."""


class PersonFoundError(AssertionError):
    """One person has decided as two."""


@dataclass
class Someone:
    """A person: the accounts that they can sign in as; True where that took more than making accounts.

    ``own`` is theirs from the beginning.
    """

    own: int
    able: dict[int, bool] = field(default_factory=dict)
    keys: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.able[self.own] = False

    def may_be_two(self, first: int, second: int) -> bool:
        """Tell whether the rule lets this person count twice: they have made both, and take no part."""
        return (
            first != second
            and self.own not in (first, second)
            and not (self.able[first] or self.able[second])
        )


Deed = tuple[int, int]
"""Who did something, by which account."""


@dataclass
class Asked:
    author: Deed
    approvals: int
    approved: list[Deed] = field(default_factory=list)
    ended: bool = False


@dataclass
class Walk:
    """One walk; ``done`` counts what was let through and refused."""

    system: System
    chance: random.Random
    done: Counter[str] = field(default_factory=Counter)
    people: list[Someone] = field(default_factory=list)
    requests: dict[int, Asked] = field(default_factory=dict)
    emergencies: dict[int, Deed] = field(default_factory=dict)
    changes: list[Deed] = field(default_factory=list)

    def run(self, steps: int) -> None:
        """Take so many steps; raises ``PersonFoundError``."""
        for _ in range(4):
            self.people.append(Someone(self.system.person()))
        moves: list[Callable[[], None]] = [
            *(self.make, self.invite, self.key),
            *(self.take_over,) * 3,
            *(self.by_key, self.ask, self.ask, self.emergency, self.change),
            *(self.approve,) * 5,
            *(self.close, self.close, self.review, self.review, self.sign_off, self.sign_off),
        ]
        for _ in range(steps):
            self.chance.choice(moves)()

    def someone(self) -> tuple[int, int]:
        """Return a person, and an account of a person as which they can sign in."""
        who = self.chance.randrange(len(self.people))
        accounts = [each for each in self.people[who].able if each not in self.people[who].keys]
        return who, self.chance.choice(accounts)

    def any_account(self, but: int) -> int | None:
        """Return an account of a person; seldom one of somebody who has not acted yet."""
        known = {each for person in self.people for each in person.able if each not in person.keys} - {but}
        return self.chance.choice(sorted(known)) if known else None

    def gets(self, who: int, by: int, account: int, *, made: bool) -> None:
        """Note that a person can sign in as an account from now on."""
        able = self.people[who].able
        able[account] = able.get(account, False) or able[by] or not made

    def make(self) -> None:
        who, by = self.someone()
        made = self.system.make(by)
        if made is not None:
            self.people.append(Someone(made))  # to whom it is handed
            self.gets(who, by, made, made=True)

    def invite(self) -> None:
        (_, maker), (who, by) = self.someone(), self.someone()
        made = self.system.invite(maker, by)
        if made is not None:
            self.people.append(Someone(made))
            self.gets(who, by, made, made=maker == by)

    def key(self) -> None:
        who, by = self.someone()
        account = self.system.key(by)
        if account is not None:
            self.people[who].keys[account] = by
            self.people[who].able[account] = True

    def by_key(self) -> None:
        who = self.chance.randrange(len(self.people))
        if not (keys := self.people[who].keys):
            return
        by = self.chance.choice(sorted(keys))
        if self.chance.random() < 0.5:
            made = self.system.make(by, key_of=keys[by])
            if made is not None:
                self.people.append(Someone(made))
                self.gets(who, keys[by], made, made=True)
        else:
            self.acts(who, by, keys[by])

    def take_over(self) -> None:
        who, by = self.someone()
        self.acts(who, by, None)

    def acts(self, who: int, by: int, key_of: int | None) -> None:
        on = self.any_account(by)
        if on is None or on == key_of:
            return
        if self.system.act(by, on, self.chance.choice(self.system.acts), key_of=key_of):
            self.gets(who, by, on, made=False)

    def ask(self) -> None:
        who, by = self.someone()
        approvals = self.chance.choice((1, 2, 2))
        request = self.system.ask(by, approvals, emergency=False)
        if request is not None:
            self.requests[request] = Asked((who, by), approvals)

    def approve(self) -> None:
        waiting = [number for number, request in self.requests.items() if not request.ended]
        if not waiting:
            return
        number = self.chance.choice(waiting[-2:])
        request = self.requests[number]
        who, by = self.someone()
        if any(account == by for _, account in request.approved):
            return
        given = self.system.approve(by, number)
        self.done[f"approve {given}"] += 1
        if given is None:
            return
        request.approved.append((who, by))
        if given:
            request.ended = True
            if not any(
                self.are_others([request.author, *chosen])
                for chosen in itertools.combinations(request.approved, request.approvals)
            ):
                raise PersonFoundError(f"request {number}: {request}")

    def are_others(self, deeds: list[Deed]) -> bool:
        """Tell whether these are of different people, as far as the rule has them differ."""
        return all(
            first[0] != second[0] or self.people[first[0]].may_be_two(first[1], second[1])
            for first, second in itertools.combinations(deeds, 2)
        )

    def emergency(self) -> None:
        who, by = self.someone()
        request = self.system.ask(by, 1, emergency=True)
        if request is not None:
            self.emergencies[request] = who, by

    def close(self) -> None:
        if not self.emergencies:
            return
        number = self.chance.choice(sorted(self.emergencies))
        deed = self.someone()
        closed = self.system.close(deed[1], number)
        self.done[f"close {closed}"] += 1
        if closed:
            author = self.emergencies.pop(number)
            if not self.are_others([author, deed]):
                raise PersonFoundError(f"emergency {number}: {author} and {deed}")

    def review(self) -> None:
        who, by = self.someone()
        about = self.any_account(by)
        if about is None:
            return
        decided = self.system.review(by, about)
        self.done[f"review {decided}"] += 1
        if decided and about in self.people[who].able and not self.people[who].may_be_two(by, about):
            raise PersonFoundError(f"review: {who} by {by} about {about}")

    def change(self) -> None:
        who, by = self.someone()
        if self.system.change(by):
            self.changes.append((who, by))

    def sign_off(self) -> None:
        if not self.changes:
            return
        deed = self.someone()
        signed = self.system.sign_off(deed[1])
        self.done[f"sign off {signed}"] += 1
        if signed:
            changes, self.changes = self.changes, []
            if not all(self.are_others([change, deed]) for change in changes):
                raise PersonFoundError(f"sign-off: {deed} of {changes}")
