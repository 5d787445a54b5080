"""The permission map, for services that read the rights in tokens: ``/api/policy/permission-map``."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from service.authz.publishing.live import LivePolicy
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import named, needs, tagged
from service.web.messages.preconditions import answer_tag, content_tag
from service.web.messages.schema import Revision, Schema


class BitPositions(Schema):
    """The bit position of each permission code in the claim `pb` of access tokens."""

    revision: Revision
    bits: Annotated[dict[str, Annotated[int, Meta(ge=0)]], Meta(examples=[{"system:role:list": 17}])]


class PermissionBits:
    """``/api/policy/permission-map``."""

    def __init__(self, live: LivePolicy) -> None:
        self._live = live

    @needs("system:policy:read")
    @tagged
    @named("getPermissionMap")
    async def on_get(self, context: RequestContext) -> BitPositions:
        """Read the map of permission codes to the bits of tokens, as of the policy in force.

        Bit `n` of `pb`, which is base64, is in byte `n >> 3`, the lowest bit first. The `ETag` changes with
        the map, and not with the revision alone. A position that was given up belongs to another code after
        twelve hours at the earliest: read the map again before that.
        """
        context.policy = policy = self._live.current
        bits = policy.permission_map.positions
        answer_tag(context, content_tag(bits))
        return BitPositions(revision=policy.revision, bits=bits)
