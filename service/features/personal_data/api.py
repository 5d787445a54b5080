"""The copy of the caller's own data: ``/api/user/profile/data``."""

from typing import Annotated, Any

from msgspec import Meta

from service.endpoints.record_endpoints import Endpoint
from service.features.personal_data.copies import copy_of
from service.kernel.clock import now
from service.records.database.transactions import Database
from service.web.content.streams import JSON, Stream, attachment
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import logged, login, sends
from service.web.messages.schema import Id, Moment, Schema
from service.web.requests.routes import Routes


class PersonalData(Schema):
    """The rows about a person, by table, the newest first; `cut` names tables with more rows."""

    user_id: Id
    time: Moment
    tables: Annotated[
        dict[str, list[dict[str, Any]]], Meta(description="Members are the columns of the database.")
    ]
    cut: list[str]


class OwnData(Endpoint[Database], at="/api/user/profile/data"):
    @login(name="exportOwnData")
    @logged("export own personal data", "EXPORT", keeps="nothing")
    @sends(JSON, of=PersonalData)
    async def on_get(self, context: RequestContext) -> Stream:
        """Export the caller's own personal data, without secrets and without data of other people.

        The session has a login of the last 15 minutes. API keys can't export.
        """
        name = attachment(f"personal-data-{now():%Y%m%dT%H%M%SZ}.json")
        return Stream(copy_of(self.part, context.user.user_id), JSON, {"Content-Disposition": name})


def add_routes(routes: Routes, container: Any) -> None:
    """Register the endpoints, made of the parts of ``container``."""
    routes.serve(OwnData(container.stores.database))
