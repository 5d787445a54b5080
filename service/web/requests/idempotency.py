"""``Idempotency-Key`` (draft-ietf-httpapi-idempotency-key-header): creating requests are safe to repeat."""

import hashlib
import re
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, Final, Protocol, cast

import msgspec

from service.errors import BadRequest
from service.kernel.core_sentences import sentence
from service.kernel.write import AnsweredBeforeError, IdempotentWrite, KeyScope, SentAnswer
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import MetadataError, Operation
from service.web.messages.schema import json_text
from service.web.requests.recording import sensitive_parts

KEY: Final = "Idempotency-Key"
REPLAYED: Final = "Idempotency-Replayed"
"""The header of an answer that is sent again; its value is ``true``."""
MOST: Final = 255
"""The longest key, in characters."""

Run = Callable[[RequestContext, dict[str, Any]], Awaitable[Any]]
"""Calls a responder with its arguments; returns the answer."""

_KEY: Final = KEY.lower().encode("ascii")
_FORM: Final = re.compile(rb"[\x20-\x7e]{1,%d}" % MOST)
_KEPT: Final = (b"etag", b"location")


MakeAnswer = Callable[[Any], SentAnswer]
"""Makes the answer from what the write has saved."""


class IdempotentWrites(Protocol):
    """Makes writes whose answers are kept, in the transaction of the write itself; a feature keeps them."""

    def write(
        self, scope: KeyScope, content: bytes, answer: MakeAnswer, *, holds_secret: bool
    ) -> AbstractAsyncContextManager[IdempotentWrite]:
        """Let the block make the write of a request, and keep the answer of ``answer``.

        A retry must have the same ``content``; ``holds_secret`` says that it may include a password. Raises
        ``RequestUnderWay`` while another request uses the key, and ``IdempotencyKeyReused`` if the key was
        used with other content. For a retry raises ``AnsweredBeforeError`` with the kept answer, once the
        block has found that the caller may make the write.
        """


def hash_of(key: bytes) -> bytes:
    """Return the hash under which a key is known."""
    return hashlib.sha256(key).digest()


def with_keys(operation: Operation, run: Run, writes: IdempotentWrites | None) -> Run:
    """Return ``run`` with the keys that ``operation`` takes or refuses; any other operation ignores them.

    Raises MetadataError if nothing serves its keys, or if its answer could hold a secret, which is never
    kept.
    """
    if why := operation.metadata.refuses_keys:
        return _refusing(run, why)
    make = operation.metadata.idempotent
    if make is None:
        return run
    secret = sensitive_parts(operation.signature)
    if writes is None or operation.signature.body is None or secret.answer:
        raise MetadataError(f"{operation.object}: its answers can't be kept under an {KEY}")

    async def keyed(context: RequestContext, arguments: dict[str, Any]) -> Any:
        key = _key_of(context)
        if key is None or (operation.metadata.dry_run and arguments["query"].dry_run):
            return await run(context, arguments)

        def answer(saved: object) -> SentAnswer:
            headers, policy = context.headers, context.policy
            context.headers = []
            try:
                made = make(context, saved)
                context.tell_location(operation, arguments, made)
                data = json_text(made)
                kept = {name.decode(): value.decode() for name, value in context.headers if name in _KEPT}
            finally:
                context.headers, context.policy = headers, policy
            return SentAnswer(operation.status, kept, data)

        scope = KeyScope(context.user.user_id, operation.method, context.scope["path"], hash_of(key))
        try:
            content = _content(context)
            async with writes.write(scope, content, answer, holds_secret=secret.given) as context.idempotent:
                return await run(context, arguments)
        except AnsweredBeforeError as before:
            return _again(context, before.kept)

    return keyed


def leaves_keys_open(operation: Operation) -> bool:
    """True if nothing says what ``operation`` does with a key, and ignoring it would mislead a client.

    That is so where a repetition would create something again, or could not be answered with the same secret.
    """
    metadata = operation.metadata
    decided = metadata.idempotent is not None or bool(metadata.refuses_keys) or metadata.asks
    if operation.method != "POST" or decided:
        return False
    return bool(metadata.location) or sensitive_parts(operation.signature).answer


def _refusing(run: Run, why: str) -> Run:
    def refuse(context: RequestContext, arguments: dict[str, Any]) -> Awaitable[Any]:
        if _key_of(context) is not None:
            raise BadRequest(sentence("idempotency_key_refused", header=KEY, why=why))
        return run(context, arguments)

    return refuse


def _key_of(context: RequestContext) -> bytes | None:
    """Return the key of the request, None without one; raises BadRequest for one that is malformed."""
    sent = [value for name, value in context.scope["headers"] if name == _KEY]
    if not sent:
        return None
    if len(sent) > 1 or _FORM.fullmatch(sent[0]) is None:
        raise BadRequest(sentence("idempotency_key_malformed", header=KEY, most=MOST))
    return cast(bytes, sent[0])


def _content(context: RequestContext) -> bytes:
    """Return the content that a retry must repeat: the values of the body, and the query."""
    body = msgspec.json.decode(context.request.body or b"null")
    return msgspec.json.encode([context.scope["query_string"].decode("ascii"), body], order="sorted")


def _again(context: RequestContext, kept: SentAnswer) -> msgspec.Raw:
    context.replayed = True
    context.answers_with = kept.status
    for name, value in kept.headers.items():
        context.respond_header(name, value)
    context.respond_header(REPLAYED, "true")
    return msgspec.Raw(kept.answer)
