"""Events of the decision log: one decision, with all data needed to repeat and to find it."""

import json
import os
import re
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Final, Literal

import msgspec
from msgspec import Struct

from service.kernel.codes import Ceiling
from service.kernel.origin import EditRequest, GrantQuestion, LastingQuestion, Needed, ObjectQuestion
from service.kernel.strict_json import strict_json

Outcome = Literal["allow", "deny"]


class DecisionEvent(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="event", tag="decision"):
    """The decision about one request.

    - ``layer``, ``object``, ``line`` and ``code`` are those of the deciding layer, the last one asked.
      ``code`` is that
    of the line. ``passed`` are the lines of the layers that allowed before.
    - ``decision`` is the id; ``revision`` and ``own_digest`` are those of the policy.
    - ``required`` are the codes missing for a denied request. ``needed`` is whether any or all were
      required.
    - ``codes`` and ``roles`` are those of the caller's token; ``codes`` is None without a session.
    - ``ceilings`` are further callers that had to be allowed too, such as the scopes of an API key, each with
      its name and its codes. Every question about ``codes`` was asked of them as well.
    - ``satisfied`` are the authentication demands that the caller satisfied; None for an anonymous caller,
      and in events
    of version 0.2.0.
    - ``route`` is the template. ``path`` is the request path without possible secrets, or None if only the
      route is
    logged.
    - ``dry_run``: the request only asked for the effect of a change.
    - ``grants`` and ``edits`` are questions about the caller after the request was admitted. ``objects`` are
      other
    questions, of layer and object. Versions before 1.0 do not log them.
    - ``stored_codes`` are the codes in the database, if they differ from the token's. Each such question is
      asked of both.
    At sign-in there is no token, and ``stored_codes`` alone count. For ``token_objects``, some of
    ``objects``, the token's codes alone count.
    - ``lasting`` are questions about grants for which the caller held less: ``held`` replaces
      ``stored_codes``.
    - ``ceiling``: if a directory assigned roles, ``grants`` are asked of its ceiling alone.
    - ``time`` is RFC 3339; ``trace_id`` is that of the request's trace, "" without tracing.
    """

    time: str
    outcome: Outcome
    decision: str
    revision: int
    own_digest: str
    request_id: str
    trace_id: str = ""
    method: str
    route: str
    path: str | None = None
    dry_run: bool = False
    user_id: int | None = None
    roles: tuple[str, ...] = ()
    codes: frozenset[str] | None = None
    ceilings: tuple[Ceiling, ...] = ()
    stored_codes: frozenset[str] | None = None
    satisfied: frozenset[str] | None = None
    layer: str
    object: str
    line: str | None = None
    code: str | None = None
    passed: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    needed: Needed = "any"
    grants: tuple[GrantQuestion, ...] = ()
    lasting: tuple[LastingQuestion, ...] = ()
    edits: tuple[EditRequest, ...] = ()
    objects: tuple[ObjectQuestion, ...] = ()
    token_objects: tuple[ObjectQuestion, ...] = ()
    ceiling: frozenset[str] | None = None


class AskedRoute(Struct, frozen=True, array_like=True):
    """A request in a question: the service, the method, and the path or template.

    ``satisfied`` are the authentication demands that the subject satisfied; None for an anonymous subject.
    """

    service: str
    method: str
    path: str
    satisfied: frozenset[str] | None


class EvaluationEvent(
    Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="event", tag="evaluation"
):
    """The answer to a question of another service.

    ``asked_by`` is the id of the asking account. ``user_id``, ``roles``, ``codes`` and ``ceilings`` are those
    of the subject, of the type ``subject_type``; they are missing for an inactive subject. ``reason`` is that
    of the answer. ``satisfied`` are the authentication demands that the subject satisfied, if these decided.

    ``layer``, ``object``, ``line``, ``code`` and ``required`` are those of the decision with the id
    ``decision``, which is "" without the enforcer. ``revision`` and ``own_digest`` are those of the policy.
    ``asked`` is the request of a question about a registered route, which can be repeated.
    """

    time: str
    outcome: Outcome
    reason: str
    decision: str = ""
    revision: int
    own_digest: str
    request_id: str
    trace_id: str = ""
    asked_by: int
    subject_type: str
    user_id: int | None = None
    roles: tuple[str, ...] = ()
    codes: frozenset[str] | None = None
    ceilings: tuple[Ceiling, ...] = ()
    satisfied: frozenset[str] | None = None
    layer: str | None = None
    object: str | None = None
    line: str | None = None
    code: str | None = None
    required: tuple[str, ...] = ()
    asked: AskedRoute | None = None


Event = DecisionEvent | EvaluationEvent
"""An event of the decision log."""


# Sorted sets, so that equal events are equal lines.
_encode = msgspec.json.Encoder(order="deterministic").encode
_decode = msgspec.json.Decoder(DecisionEvent).decode
_decode_any: Callable[[bytes], Event] = msgspec.json.Decoder(Event).decode


_NUMBER: Final = re.compile(r"[0-9]{1,19}")


def shown_path(path: str, template: str, resource: str) -> str:
    """Return ``path`` with secret parameters as in the template: those that are no whole number.

    A text that the resource itself contains is registered, and is shown.
    """
    if "{" not in template:
        return path
    registered = resource.partition(" ")[2].split("/")
    parts = zip(path.split("/"), template.split("/"), strict=True)
    return "/".join(
        name
        if name.startswith("{") and not _NUMBER.fullmatch(part) and part not in registered[at : at + 1]
        else part
        for at, (part, name) in enumerate(parts)
    )


def encoded(event: Event) -> bytes:
    """Encode ``event`` as one line of JSON in ASCII, with its line feed."""
    return as_text(event) + b"\n"


def as_text(value: object) -> bytes:
    """Encode ``value``, an event or a part of one, as JSON in ASCII."""
    text = _encode(value)
    if text.isascii():
        return text
    # Escape other characters, such as line separators.
    return json.dumps(json.loads(text), separators=(",", ":")).encode("ascii")


def decoded(line: bytes) -> DecisionEvent | None:
    """Parse the event of a line; return None for a line of another log. Raises ValueError otherwise."""
    try:
        return _decode(line)
    except msgspec.MsgspecError:
        other = strict_json(line)
        if isinstance(other, dict) and other.get("event") not in (None, "decision"):
            return None
        raise
    except RecursionError:
        raise ValueError("nested too deep") from None


def answered_question(line: bytes) -> EvaluationEvent | None:
    """Return the event of an answered question; None for any other line."""
    event = event_in(line) if b'"event":"evaluation"' in line else None
    return event if isinstance(event, EvaluationEvent) else None


def event_in(line: bytes) -> Event | None:
    """Return the event of a line, of either kind; None for any other line."""
    try:
        return _decode_any(line)
    except (msgspec.MsgspecError, RecursionError):
        return None


MOST: Final = 256 * 2**20
"""Maximum bytes searched at the end of a file: half a million events, a second on a slow disk."""
_BLOCK: Final = 4 * 2**20


def denial_in(path: Path, decision_id: str) -> Event | None:
    """Return the latest denial with that id in the file ``path``; None without one, or without a file.

    Lines without events are skipped. Pipes and other special files are not read.
    """
    try:
        with open(path, "rb", opener=_without_waiting) as file:
            return latest_denial(file, decision_id) if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else None
    except OSError:
        return None


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)


def latest_denial(file: IO[bytes], decision_id: str) -> Event | None:
    """Return the latest denial with that id in an open, seekable file; raises OSError."""
    for line in _lines_with(file, f'"decision":"{decision_id}"'.encode()):
        event = event_in(line)
        if event is not None and event.outcome == "deny" and event.decision == decision_id:
            return event
    return None


def _lines_with(file: IO[bytes], text: bytes) -> Iterator[bytes]:
    """Yield the lines that contain ``text``, the last one first; a file may grow meanwhile."""
    position = file.seek(0, 2)
    end = max(0, position - MOST)
    rest = b""  # the end of a line that begins in the previous block
    while position > end:
        size = min(_BLOCK, position - end)
        position -= size
        file.seek(position)
        block = file.read(size) + rest
        # Only at the start of the file is the first line complete.
        begin = 0 if position == 0 else block.find(b"\n") + 1
        rest = block[:begin] or block
        if begin or position == 0:
            yield from _within(block, begin, text)


def _within(block: bytes, begin: int, text: bytes) -> Iterator[bytes]:
    stop = len(block)
    while (position := block.rfind(text, begin, stop)) >= 0:
        start = max(block.rfind(b"\n", begin, position) + 1, begin)
        end = block.find(b"\n", position)
        yield block[start : None if end < 0 else end]
        stop = start
