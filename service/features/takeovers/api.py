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
    """An act by the user of another account, who made the account or could have used it as its owner.

    The act counts in requests, reviews and sign-offs until `until`.
    """


class TakeoverList(Schema):
    """The acts of users of other accounts, the latest first."""

    takeovers: list[Takeover]


def _shown(takeovers: list[TakeoverRecord]) -> TakeoverList:
    return TakeoverList([Takeover.of(each) for each in takeovers])


class Takeovers(Endpoint[Owners], at="/api/user/{id}/takeovers"):
    @needs("system:user:verify", name="listTakeovers", refuses=[NotFound])
    async def on_get(self, context: RequestContext, id: int) -> TakeoverList:
        """List users who made an account, or set its password, address, factors or key, in the last days."""
        return _shown(await self.part.takeovers(id))


class OwnerVerification(Endpoint[Owners], at="/api/user/{id}/owner/verification"):
    @needs("system:user:verify", name="verifyOwner", refuses=[NotFound])
    @writes("confirm the owner of an account", "UPDATE", refuses_keys="a repeated request changes nothing")
    async def on_post(self, context: RequestContext, id: int) -> TakeoverList:
        """Confirm that the owner of an account and the users who acted on it are different people.

        These acts do not count from then on. Acts of people linked to the caller's account still count, and
        callers can't confirm the owner of an account linked to their own.
        """
        return _shown(await self.part.confirm(context.user, id))
