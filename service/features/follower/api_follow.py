"""Data for followers, which decide beside other services: ``/access/v1/follow``."""

import base64
import binascii
from collections.abc import AsyncGenerator
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from service.endpoints.record_endpoints import Endpoint
from service.errors import BadRequest, Unavailable
from service.features.follower.followers import FollowerFacts
from service.features.follower.hub import Hub, Renewal
from service.features.follower.protocol import LONGEST_LEASE, LONGEST_WAIT, Changes
from service.features.follower.sentences import sentence
from service.kernel.clock import from_seconds
from service.kernel.services import NAME
from service.kernel.value_rules import whole
from service.web.content.streams import Stream
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import asks, needs, sends
from service.web.messages.record_schemas import shows
from service.web.messages.schema import Moment, ProtocolSchema, Schema

ServiceName = Annotated[str, Meta(pattern=whole(NAME.pattern), examples=["orders"])]
FollowerName = Annotated[str, Meta(pattern=whole("[A-Za-z0-9._-]{1,64}"), examples=["orders-1"])]
_KEY_LENGTHS: Final = range(16, 65)
_EXAMPLE: Final[dict[str, Any]] = {
    "follower": "orders-1",
    "services": ["orders"],
    "nonce": "f3b1c2",
    "names": "AAAAAAAAAAAAAAAAAAAAAA",
}


class FollowRenewal(ProtocolSchema):
    """The state of a follower and its requests: see the explanation of decisions beside services.

    `position` is that of the last answer. `names` is the key of the digests of user names, 16 to 64 bytes in
    base64url. The answer may wait up to `wait` seconds for changes. For `lease` seconds from the sending of
    this renewal, the follower decides by the answer. A follower without `decides` only reads, and is not
    listed. `instance` is a random text of the process: several may have the same name. A follower with
    `acting` reads agents and delegations.
    """

    follower: FollowerName
    services: Annotated[list[ServiceName], Meta(min_length=1, max_length=32)]
    nonce: Annotated[str, Meta(min_length=1, max_length=64)]
    names: Annotated[str, Meta(max_length=96)]
    position: Annotated[str, Meta(max_length=40_000)] | None = None
    wait: Annotated[float, Meta(ge=0, le=LONGEST_WAIT)] = 0.0
    lease: Annotated[float, Meta(gt=0, le=LONGEST_LEASE)] = 2.0
    decides: bool = True
    instance: Annotated[str, Meta(pattern=whole("[A-Za-z0-9_-]{0,32}"))] = ""
    acting: bool = False

    @property
    def renewal(self) -> Renewal:
        """Return the renewal; raises BadRequest for an invalid key."""
        try:
            key = base64.urlsafe_b64decode(self.names + "=" * (-len(self.names) % 4))
        except (binascii.Error, ValueError):
            key = b""
        if len(key) not in _KEY_LENGTHS:
            raise BadRequest(sentence("names_malformed"))
        return Renewal(
            self.follower,
            frozenset(self.services),
            self.nonce,
            key,
            self.position,
            self.wait,
            self.lease,
            self.instance,
            self.decides,
            self.acting,
        )


class Follow(Endpoint[Hub], at="/access/v1/follow"):
    @needs("system:policy:follow", name="followPolicy")
    @asks(example=_EXAMPLE)
    @sends("application/json", of=Changes)
    async def on_post(self, context: RequestContext, body: FollowRenewal) -> Stream:
        """Read the changes for a follower, and renew its lease.

        Only for service accounts. An account bound to a service can follow only this service.
        """
        if context.policy is None:
            raise Unavailable(sentence("no_policy"))
        renewal = body.renewal
        self.part.require(context.policy, context.user, renewal.services)
        content = msgspec.json.encode(await self.part.changes(context.user, renewal))

        async def chunks() -> AsyncGenerator[bytes, None]:
            yield content

        return Stream(chunks(), "application/json", length=len(content))


@shows(FollowerFacts, leave_out=("snapshot", "seen", "lease", "revoked", "instance"), before="seen_time")
class PolicyFollower(Schema):
    """A follower; `revision` and `rights` are those of its last renewal, at `seen_time`.

    Until `lease_time` it may decide by them. It has all transactions below `rights`.
    """

    seen_time: Moment
    lease_time: Moment
    following: bool


class FollowerList(Schema):
    """The followers by account and name: each process with a lease, or the last process of the name."""

    revision: int
    followers: list[PolicyFollower]


class Followers(Endpoint[Hub], at="/api/policy/followers"):
    @needs("system:policy:read", name="listFollowers")
    async def on_get(self, context: RequestContext) -> FollowerList:
        """List followers: the decision points beside other services, with their revision and lease."""
        now = self.part.now()
        followers = [
            PolicyFollower.of(
                each,
                seen_time=from_seconds(each.seen),
                lease_time=from_seconds(each.seen + each.lease),
                following=each.may_decide(now),
            )
            for each in await self.part.followers()
        ]
        return FollowerList(0 if context.policy is None else context.policy.revision, followers)
