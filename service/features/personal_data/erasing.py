"""Erases the data of a person in entries of the logs, whose chains still verify afterwards."""

import json
from collections.abc import Callable, Mapping
from decimal import Decimal
from hashlib import sha256
from typing import Any, Final

import msgspec

from service.audit.redaction import CLEAR
from service.features.audit_proof.commitments import (
    ACTOR,
    CONTENT,
    GONE,
    MARK,
    SALT,
    USER,
    Erased,
    Sealing,
    facts_of,
)
from service.features.audit_proof.rows import normal
from service.records.logs.inserts import Log

Matches = Callable[[str], bool]
"""Returns true if a text, which may be JSON, has data of the person."""

_encode: Final = msgspec.json.Encoder(order="sorted").encode
_store: Final = msgspec.json.Encoder(decimal_format="number").encode


def erase(
    log: Log,
    row: Mapping[str, Any],
    user_id: int,
    has_data: Matches,
    chain: Sealing,
    *,
    is_own: bool = False,
    is_about: bool = False,
) -> dict[str, Any] | None:
    """Return the columns of an entry without the data of a person; None if nothing can or must be erased.

    ``row`` has the columns of the chain by name, JSON and addresses as text, and ``salts`` and ``erased``.
    The actor is erased in entries of the person. In entries without a user, it is erased if the entry
    ``is_own``, or if ``has_data`` finds the person in the actor's JSON; that of another user stays. The
    content of an entry that ``is_about`` the person is erased. Other values are erased if ``has_data``
    finds the person in their JSON. Entries without salts, of older versions, stay as they are.
    """
    if row["salts"] is None:
        return None
    values = normal(log, row)
    erasure = _Erasure(row["salts"], user_id, has_data)
    columns: dict[str, Any] = {}
    actor = [values[name] for name in ACTOR[log]]
    owner = row["user_id"]
    is_own = is_own and any(value is not None for value in actor)
    if erasure.takes(actor, certain=is_own or owner == user_id, never=owner not in (None, user_id)):
        columns |= dict.fromkeys(ACTOR[log])
    if log == "operation_log":
        content = [values[name] for name in CONTENT]
        if erasure.takes(content, certain=is_about and any(value is not None for value in content)):
            columns |= dict.fromkeys(CONTENT)
        if values["targets"] is not None:
            columns["targets"] = [*map(erasure.target, values["targets"])]
        if isinstance(values["changes"], list):
            stored = json.loads(row["changes"], parse_float=Decimal)
            kept = [erasure.change(*pair) for pair in zip(values["changes"], stored, strict=True)]
            columns["changes"] = _store(kept).decode()
        elif values["changes"] is not None and erasure.takes(values["changes"]):
            columns["changes"] = _store(MARK).decode()
    if not erasure.taken:
        return None
    before = {} if row["erased"] is None else msgspec.convert(row["erased"], Erased).commitments
    erased = Erased({**before, **erasure.taken}, chain.key_id)
    seal = chain.seal(facts_of(log, row["event_id"], erased, erasure.marks)).hex()
    sealed = msgspec.structs.replace(erased, seal=seal)
    return {**columns, "salts": bytes(erasure.salts), "erased": msgspec.to_builtins(sealed)}


class _Erasure:
    """The erasure of one entry: walks its values in the order of ``Commitments``."""

    def __init__(self, salts: bytes, user_id: int, has_data: Matches) -> None:
        self.salts = bytearray(salts)
        self.taken: dict[str, str] = {}
        self.marks: list[str] = []
        self._mark = f"{USER}#{user_id}"
        self._has_data = has_data
        self._place = 0

    def takes(self, value: Any, *, certain: bool = False, never: bool = False) -> bool:
        """Return true if the next value is erased now; deletes its salt and keeps its commitment."""
        bounds = slice(self._place * SALT, (self._place + 1) * SALT)
        place, self._place = self._place, self._place + 1
        salt, encoded = bytes(self.salts[bounds]), _encode(value)
        if salt == GONE or never or not (certain or self._has_data(encoded.decode())):
            return False
        self.taken[str(place)] = sha256(salt + encoded).hexdigest()
        self.salts[bounds] = GONE
        return True

    def target(self, target: str) -> str:
        """Return a target, or its mark."""
        if not target.startswith(USER):
            return target
        is_gone = self.salts[self._place * SALT : (self._place + 1) * SALT] == GONE
        if self.takes(target):
            is_gone, target = True, self._mark
        if is_gone:
            self.marks.append(target)
        return target

    def change(self, change: Any, stored: Any) -> Any:
        """Return the ``stored`` JSON of a change without the data of the person."""
        target = change.get("target") if isinstance(change, dict) else None
        if not isinstance(target, str) or not target.startswith(USER):
            return stored
        named = self.target(target)
        stored = {**stored, "target": named}
        if change.get("field") in CLEAR:
            return stored
        rest = {name: value for name, value in change.items() if name not in ("target", "field")}
        if self.takes(rest, certain=named != target):
            return {"target": named, "field": change.get("field"), **MARK}
        return stored
