"""Descriptions of responders from their operation metadata and annotations, read once at registration."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any, Final, get_type_hints

from msgspec import Struct

from service.authz.engine.rules import ANYONE
from service.web.content.streams import Stream
from service.web.messages.context import RequestContext
from service.web.messages.description import Operation, Signature
from service.web.messages.dry_run import DryRunQuery
from service.web.messages.members import members_of
from service.web.messages.operation_metadata import MetadataError, metadata_of
from service.web.messages.schema import Document

CREATED: Final = 201
OK: Final = 200
NO_CONTENT: Final = 204

_FIELD: Final = re.compile(r"\{([^}]*)\}")

_described: Final[dict[tuple[str, str, Callable[..., Any], bool], Operation]] = {}
_read: Final[dict[tuple[Callable[..., Any], str], Signature]] = {}


class SignatureError(TypeError):
    """The annotations of a responder do not fit its route."""


def describe(method: str, template: str, responder: Callable[..., Any], *, public: bool = False) -> Operation:
    """Return the description of the bound ``responder`` that serves ``method`` of ``template``.

    ``public`` opens the route like ``@public``. Raises ``MetadataError`` if that contradicts the operation
    metadata, or these contradict types, and ``SignatureError`` like ``signature_of``. Results are cached.
    """
    key = (method, template, getattr(responder, "__func__", responder), public)
    if key not in _described:
        _described[key] = _description(method, template, responder, public=public)
    return _described[key]


def _description(method: str, template: str, responder: Callable[..., Any], *, public: bool) -> Operation:
    metadata = metadata_of(responder)
    if public and metadata.access not in ((), (ANYONE,)):
        raise MetadataError(f"{method} {template} is declared public, and its responder is not")
    signature = signature_of(responder, template)
    if (signature.answer is Stream) != bool(metadata.media):
        raise MetadataError(f"{method} {template}: a Stream has @sends, and nothing else has")
    if metadata.dry_run:
        if signature.query is not None:
            raise MetadataError(f"{method} {template}: @dry_run gives it its query, and it has one already")
        signature = _with_dry_run(signature)
    summary, _, description = (inspect.getdoc(responder) or f"{method} {template}").partition("\n")
    return Operation(
        method=method,
        template=template,
        access=(ANYONE,) if public else metadata.access,
        metadata=metadata,
        signature=signature,
        status=metadata.status or (CREATED if metadata.location else OK),
        name=getattr(responder, "__qualname__", repr(responder)),
        summary=summary.rstrip("."),
        description=description.strip(),
    )


@cache
def _with_dry_run(signature: Signature) -> Signature:
    return replace(signature, query=DryRunQuery)


def signature_of(responder: Callable[..., Any], template: str) -> Signature:
    """Return the types of a bound ``responder``; raises SignatureError if they do not fit ``template``.

    ``context: RequestContext`` comes first; ``body`` and ``query`` are Structs; every other parameter is a
    field of the template, ``int`` (an id), ``str``, or a text with constraints. Results are cached.
    """
    key = (getattr(responder, "__func__", responder), template)
    if key not in _read:
        _read[key] = _signature(responder, template)
    return _read[key]


def _signature(responder: Callable[..., Any], template: str) -> Signature:
    name = getattr(responder, "__qualname__", repr(responder))
    if not inspect.iscoroutinefunction(responder):
        raise SignatureError(f"{name} is not async")
    hints = get_type_hints(responder, include_extras=True)
    parameters = list(inspect.signature(responder).parameters)
    if missing := [parameter for parameter in (*parameters, "return") if parameter not in hints]:
        raise SignatureError(f"{name} does not annotate {', '.join(missing)}")
    if not parameters or hints[parameters[0]] is not RequestContext:
        raise SignatureError(f"the first parameter of {name} is not context: RequestContext")
    path = {parameter: hints[parameter] for parameter in parameters[1:] if parameter not in ("body", "query")}
    if set(path) != set(fields := _FIELD.findall(template)):
        raise SignatureError(f"{name} takes {sorted(path)} of {template}, whose fields are {sorted(fields)}")
    signature = Signature(hints.get("body"), hints.get("query"), path, hints["return"])
    _check(signature, name)
    return signature


def _check(signature: Signature, name: str) -> None:
    kinds = [kind for kind in (signature.body, signature.query) if kind is not None]
    for kind in kinds:
        if not (isinstance(kind, type) and issubclass(kind, Struct)):
            raise SignatureError(f"{name}: body and query must be Structs, not {kind}")
    answer = [] if signature.answer in (Document, Stream) else [signature.answer]
    try:
        for kind in (*kinds, *signature.path.values(), *answer):
            members_of(kind)
    except (TypeError, NotImplementedError) as error:
        raise SignatureError(f"{name} has a type that JSON does not: {error}") from error
