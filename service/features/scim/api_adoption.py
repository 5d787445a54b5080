"""``/api/directory/{source}/accounts``: handover of accounts to a directory."""

from service.endpoints.record_endpoints import Endpoint
from service.endpoints.users import UserName
from service.errors import Conflict, NotFound
from service.features.directories.api_directories import Source
from service.features.scim.adoptions import Adoptions
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import by_session, needs, writes
from service.web.messages.schema import Schema


class AdoptionOrder(Schema):
    """The account that the directory will manage."""

    user_name: UserName


class AccountsOfDirectory(Endpoint[Adoptions], at="/api/directory/{source}/accounts"):
    @needs("system:user:reset-password", name="assignAccountToDirectory", refuses=[NotFound, Conflict])
    @by_session("set-password")
    @writes("hand over to a directory", "UPDATE", module="user", example={"userName": "nobody"}, answers=204)
    async def on_post(self, context: RequestContext, body: AdoptionOrder, source: Source) -> None:
        """Let a SCIM directory manage an existing account, as if it had created the account.

        For accounts from before the directory, or from a deleted directory of the same name. The owner gets a
        mail. Callers can't hand over users with more permissions than their own, nor themselves. 409 for
        users with permissions beyond the ceiling of the directory.
        """
        await self.part.adopt(context.write, source, body.user_name)
