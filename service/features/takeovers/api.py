"""Takeovers of accounts, and confirmations that the owner is another person."""

from service.endpoints.record_endpoints import Endpoint
from service.errors import NotFound
from service.features.takeovers.owners import Owners
from service.features.takeovers.owners import Takeover as TakeoverRecord
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import needs, writes
from service.web.messages.record_schemas import shows
from service.web.messages.schema import Schema


@shows(TakeoverRecord)
class Takeover(Schema, kw_only=True):
    """That the user of another account made the account, or could get to act as its owner, by `act`.

    It counts in requests, reviews and sign-offs until `until`.
    """


class TakeoverList(Schema):
    """What users of other accounts did, the latest first."""

    takeovers: list[Takeover]


def _shown(takeovers: list[TakeoverRecord]) -> TakeoverList:
    return TakeoverList([Takeover.of(each) for each in takeovers])


class Takeovers(Endpoint[Owners], at="/api/user/{id}/takeovers"):
    @needs("system:user:verify", name="listTakeovers", refuses=[NotFound])
    async def on_get(self, context: RequestContext, id: int) -> TakeoverList:
        """Read who made an account, or set its password, address, factors or key, in the last days."""
        return _shown(await self.part.takeovers(id))


class OwnerVerification(Endpoint[Owners], at="/api/user/{id}/owner/verification"):
    @needs("system:user:verify", name="verifyOwner", refuses=[NotFound])
    @writes("confirm the owner of an account", "UPDATE", refuses_keys="sent again, it changes nothing more")
    async def on_post(self, context: RequestContext, id: int) -> TakeoverList:
        """Confirm that the owner of an account is another person than those who acted on it.

        From then on these acts do not count any more. Those of people who stand behind the caller's account
        stay, and nobody confirms the owner of an account that stands behind their own.
        """
        return _shown(await self.part.confirm(context.user, id))
