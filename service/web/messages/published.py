"""Answers to changes that publish the policy: the saved record, and the revision that is in force with it."""

from __future__ import annotations

from dataclasses import asdict
from types import SimpleNamespace
from typing import Any, TypeVar

from service.authz.engine.policy import Policy
from service.web.messages.context import RequestContext
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
