"""Salted commitments of personal values: an entry's chained content has their digests instead of the values.

A commitment is the SHA-256 of a random salt of 16 bytes and the value. Once salt and value are deleted, the
digest says nothing about the value, and the chain still verifies. A row keeps its salts in ``salts``, in the
order of its values:

- the actor: name, device, address and User-Agent
- of an operation also its content: query, parameters, answer and error
- each target that is a user
- of each change of a user: the target, then the values, unless the field is in ``CLEAR``

An erasure replaces the salt by zeros, and the value by a mark. ``erased`` then has the commitments by their
places, and a seal by the chain key: without the key nobody can pass a changed value for an erased one.
"""

import re
from collections.abc import Mapping, Sequence
from hashlib import sha256
from os import urandom
from typing import Any, Final, Protocol

import msgspec

from service.audit.redaction import CLEAR
from service.records.logs.inserts import Log

SALT: Final = 16
"""Bytes of a salt."""
ACTOR: Final[dict[Log, tuple[str, ...]]] = {
    "operation_log": ("user_name", "device", "client_ip", "user_agent"),
    "login_log": ("user_name", "device", "login_ip", "user_agent", "browser", "os"),
}
"""The columns about the actor, committed together at the place of the first."""
CONTENT: Final = ("params", "query", "response", "error")
"""The columns about the content of an operation, committed together at the place of the first."""
USER: Final = "user:"
"""The beginning of a target that is a user."""
_MARK: Final = re.compile(r"user:#[1-9][0-9]{0,18}")
GONE: Final = bytes(SALT)
"""The salt of an erased value."""

MARK: Final = {"erased": True}
"""Replaces the values of a change."""

Commitment = dict[str, str]
_encode = msgspec.json.Encoder(order="sorted").encode


class Sealing(Protocol):
    """Makes seals: a ``Chain``."""

    key_id: str

    def seal(self, facts: str) -> bytes:
        """Return the seal over ``facts``."""


class Erased(msgspec.Struct, frozen=True, rename="camel"):
    """Erased values of an entry: commitments by place in ``salts``, and the seal with the id of its key."""

    commitments: dict[str, str]
    key_id: str
    seal: str = ""


def facts_of(log: Log, event_id: object, erased: Erased, marks: Sequence[str]) -> str:
    """Return the sealed text about an erasure; ``marks`` are the marks in targets and changes, in order."""
    facts = [log, str(event_id), sorted(erased.commitments.items()), list(marks)]
    return f"erasure {_encode(facts).decode()}"


class Commitments:
    """Commits to the values of one entry, in their order.

    Without ``stored``, each value gets a new salt. ``gone`` are the commitments of erased values, by place.
    """

    def __init__(self, stored: bytes | None = None, gone: Mapping[str, str] | None = None) -> None:
        self._stored = stored
        self._gone = gone or {}
        self.salts = b""
        self.place = 0
        self.marks: list[str] = []
        self.openings: list[tuple[str, str]] = []
        """Salt, in hexadecimal, and JSON of each stored value; empty texts for an erased one."""

    def of(self, value: Any, *, is_mark: bool = False) -> Commitment:
        """Return the commitment to ``value``, plain JSON; ValueError for a mark of an erasure that is none.

        ``is_mark``: the value could be the mark of an erased one.
        """
        place, self.place = self.place, self.place + 1
        new = self._stored is None
        salt = urandom(SALT) if new else (self._stored or b"")[place * SALT : self.place * SALT]
        self.salts += salt
        gone = self._gone.get(str(place))
        if gone is None:
            if salt == GONE or len(salt) != SALT:
                raise ValueError("a value lacks its salt")
            encoded = _encode(value)
            if not new:
                self.openings.append((salt.hex(), encoded.decode()))
            return {"c": sha256(salt + encoded).hexdigest()}
        if salt != GONE or not is_mark:
            raise ValueError("an erased value has a salt or a value")
        self.openings.append(("", ""))
        return {"c": gone}

    def end(self) -> None:
        """Check that all salts and erasures were used; ValueError."""
        known = self._stored is None or self._stored == self.salts
        if not known or any(not name.isdecimal() or int(name) >= self.place for name in self._gone):
            raise ValueError("there are more salts or erasures than values")

    def target(self, target: Any) -> Any:
        """Return a target as it is chained."""
        if not isinstance(target, str) or not target.startswith(USER):
            return target
        is_mark = _MARK.fullmatch(target) is not None and str(self.place) in self._gone
        if is_mark:
            self.marks.append(target)
        return self.of(target, is_mark=is_mark)

    def change(self, change: Any) -> Any:
        """Return a change as it is chained."""
        target = change.get("target") if isinstance(change, dict) else None
        if not isinstance(target, str) or not target.startswith(USER):
            return change
        chained = {"target": self.target(target), "field": change.get("field")}
        rest = {name: value for name, value in change.items() if name not in chained}
        if change.get("field") in CLEAR:
            return {**rest, **chained}
        return {**chained, "values": self.of(rest, is_mark=rest == MARK)}


def chained(log: Log, values: Mapping[str, Any], commitments: Commitments) -> dict[str, Any]:
    """Return the columns that are chained otherwise than plainly; ``values`` are normal (``rows.normal``)."""
    actor = [values[name] for name in ACTOR[log]]
    columns: dict[str, Any] = dict.fromkeys(ACTOR[log])
    columns[ACTOR[log][0]] = commitments.of(actor, is_mark=not any(actor))
    if log == "operation_log":
        content = [values[name] for name in CONTENT]
        columns |= dict.fromkeys(CONTENT)
        columns[CONTENT[0]] = commitments.of(content, is_mark=all(each is None for each in content))
        if values["targets"] is not None:
            columns["targets"] = [*map(commitments.target, values["targets"])]
        changes = values["changes"]
        if isinstance(changes, list):
            columns["changes"] = [*map(commitments.change, changes)]
        elif changes is not None:  # cut
            columns["changes"] = commitments.of(changes, is_mark=changes == MARK)
    commitments.end()
    return columns


_COMMITTED: Final = re.compile(r'{"c":"([0-9a-f]{64})"}')


def opens(canonical: str, openings: Sequence[tuple[str, str]]) -> bool:
    """Return true if the values of ``openings`` are those that a chained text commits to; erased ones pass.

    ValueError for a salt that is not hexadecimal.
    """
    commitments = _COMMITTED.findall(canonical)
    return len(commitments) == len(openings) and all(
        not salt or sha256(bytes.fromhex(salt) + value.encode()).hexdigest() == commitment
        for (salt, value), commitment in zip(openings, commitments, strict=True)
    )


def is_sealed(
    log: Log, values: Mapping[str, Any], stored: Any, marks: Sequence[str], chains: Mapping[str, Sealing]
) -> bool:
    """Return true if the erasures of an entry were sealed by one of ``chains``, by the ids of their keys."""
    erased = msgspec.convert(stored, Erased)
    chain = chains.get(erased.key_id)
    if chain is None:
        return False
    facts = facts_of(log, values["event_id"], erased, marks)
    return chain.seal(facts).hex() == erased.seal
