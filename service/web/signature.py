"""What a responder's annotations say: read once, when its route is registered."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, get_type_hints

import msgspec
from msgspec import Struct

from service.web.call import Call
from service.web.streams import Stream
from service.web.wire import Document, schema_of

_FIELD: Final = re.compile(r"\{([^}]*)\}")

_read: Final[dict[tuple[Callable[..., Any], str], Signature]] = {}


class SignatureFault(TypeError):  # noqa: N818 - the word of start-up checks throughout the project
    """A responder whose annotations do not fit its route."""


@dataclass(frozen=True, slots=True, eq=False)
class Signature:
    """The types of a responder; ``body`` and ``query`` are None where it takes none.

    One function at one template has one signature in a process, compared and hashed by identity.
    """

    body: type[Struct] | None
    query: type[Struct] | None
    path: Mapping[str, Any]
    answer: Any


def signature_of(responder: Callable[..., Any], template: str) -> Signature:
    """Read the annotations of a bound ``responder``; SignatureFault when they do not fit ``template``.

    ``call: Call`` comes first; ``body`` and ``query`` are Structs; every other parameter is a field of the
    template, ``int`` (an id), ``str``, or a text with constraints. What was read once is kept.
    """
    key = (getattr(responder, "__func__", responder), template)
    if key not in _read:
        _read[key] = _signature(responder, template)
    return _read[key]


def _signature(responder: Callable[..., Any], template: str) -> Signature:
    name = getattr(responder, "__qualname__", repr(responder))
    if not inspect.iscoroutinefunction(responder):
        raise SignatureFault(f"{name} is not async")
    hints = get_type_hints(responder, include_extras=True)
    parameters = list(inspect.signature(responder).parameters)
    if missing := [parameter for parameter in (*parameters, "return") if parameter not in hints]:
        raise SignatureFault(f"{name} does not annotate {', '.join(missing)}")
    if not parameters or hints[parameters[0]] is not Call:
        raise SignatureFault(f"the first parameter of {name} is not call: Call")
    path = {parameter: hints[parameter] for parameter in parameters[1:] if parameter not in ("body", "query")}
    if set(path) != set(fields := _FIELD.findall(template)):
        raise SignatureFault(f"{name} takes {sorted(path)} of {template}, whose fields are {sorted(fields)}")
    signature = Signature(hints.get("body"), hints.get("query"), path, hints["return"])
    _check(signature, name)
    return signature


def _check(signature: Signature, name: str) -> None:
    kinds = [kind for kind in (signature.body, signature.query) if kind is not None]
    for kind in kinds:
        if not (isinstance(kind, type) and issubclass(kind, Struct)):
            raise SignatureFault(f"{name}: body and query must be Structs, not {kind}")
    answer = [] if signature.answer in (Document, Stream) else [signature.answer]
    try:
        msgspec.json.schema_components([*kinds, *signature.path.values(), *answer], schema_hook=schema_of)
    except (TypeError, NotImplementedError) as error:
        raise SignatureFault(f"{name} has a type that JSON does not: {error}") from error
