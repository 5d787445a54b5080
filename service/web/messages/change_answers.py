"""Answers to changes: where a new record is, and the revision of the policy that a change has published."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from types import SimpleNamespace
from typing import Any, TypeVar

from service.authz.engine.policy import Policy
from service.web.messages.context import RequestContext
from service.web.messages.description import Operation
from service.web.messages.preconditions import answer_tag, version_tag
from service.web.messages.schema import Schema

S = TypeVar("S", bound=Schema)


def published_answer(context: RequestContext, kind: type[S], saved: Any, policy: Policy) -> S:
    """Return ``saved``, a dataclass with a version, as ``kind``, which also has a ``policy_revision``.

    Adds the headers of the policy and the ``ETag`` of the record to the answer.
    """
    context.policy = policy
    answer_tag(context, version_tag(saved.version))
    return kind.of(SimpleNamespace(**asdict(saved), policy_revision=policy.revision))


def tell_location(
    context: RequestContext, operation: Operation, arguments: Mapping[str, Any], made: Any
) -> None:
    """Say where ``made`` is, the answer of ``operation`` to a request with ``arguments`` (RFC 9110 §15.3.2).

    The last field of the template in ``@created`` is its ``id``, the others are arguments.
    """
    if template := operation.metadata.location:
        above, _, _ = template.rpartition("{")
        context.respond_header("Location", f"{above.format(**arguments)}{made.id}")
