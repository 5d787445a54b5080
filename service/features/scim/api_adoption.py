"""``/api/directory/{source}/accounts``: handover of accounts to a directory."""

from service.endpoints.record_endpoints import Endpoint
from service.endpoints.users import UserName
from service.errors import Conflict, NotFound
from service.features.directories.api_directories import Source
from service.features.scim.adoptions import Adoptions
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import needs, writes
from service.web.messages.schema import Schema


class AdoptionOrder(Schema):
    """Whose account the directory is to manage."""

    user_name: UserName


class AccountsOfDirectory(Endpoint[Adoptions], at="/api/directory/{source}/accounts"):
    @needs("system:user:reset-password", name="assignAccountToDirectory", refuses=[NotFound, Conflict])
    @writes("hand over to a directory", "UPDATE", module="user", example={"userName": "nobody"}, answers=204)
    async def on_post(self, context: RequestContext, body: AdoptionOrder, source: Source) -> None:
        """Let a directory that provisions by SCIM manage the account of somebody, as if it had created it.

        For accounts that were here before, and those of a directory that was deleted and made anew. The
        person is told. Callers can't do it for users who hold more permissions than they do, nor for
        themselves; 409 for users who hold more than the ceiling of the directory.
        """
        await self.part.adopt(context.write, source, body.user_name)
