"""The installation, for its operators: ``/api/system``."""

from datetime import timedelta
from typing import Annotated

from msgspec import Meta, field

from service.audit.stream_consumer import hour_of
from service.endpoints.record_endpoints import Endpoint
from service.errors import Unavailable
from service.kernel.clock import from_seconds, now
from service.keyspace import ACTIVITY_HOURS, LogStream
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import needs
from service.web.messages.schema import Moment, Schema, moment

_SECONDS = timedelta(hours=1).total_seconds()


class ActivityHour(Schema):
    """The activity of the hour that begins at `hour`.

    `logins` and `loginFailures` are those of the login log. `allowed` counts logged operations allowed by the
    policy, `refused` all requests that it refused.
    """

    hour: Moment
    logins: int
    login_failures: int
    allowed: int
    refused: int


class Activity(Schema):
    """The activity from `from` to `to`, by hour, the oldest first; the last hour is incomplete."""

    from_: Moment = field(name="from")
    to: Moment
    hours: list[ActivityHour]


class ActivityQuery(Schema):
    """How far back to look."""

    hours: Annotated[
        int, Meta(ge=1, le=ACTIVITY_HOURS, description="Number of hours, with the one that has begun.")
    ] = 24


class SystemActivity(Endpoint[LogStream], at="/api/system/activity"):
    @needs("system:activity:list", name="listActivity", refuses=[Unavailable])
    async def on_get(self, context: RequestContext, query: ActivityQuery) -> Activity:
        """Count sign-ins, logged operations and refusals of all nodes by hour, for up to 90 days.

        An entry is counted once it is in its log, a moment after the answer. Hours begin in UTC.
        """
        to = now()
        last = hour_of(to)
        hours = await self.part.activity(last - query.hours + 1, last)
        return Activity(
            from_=_begin(hours[0].hour),
            to=moment(to),
            hours=[
                ActivityHour(_begin(each.hour), each.logins, each.login_failures, each.allowed, each.refused)
                for each in hours
            ],
        )


def _begin(hour: int) -> Moment:
    return moment(from_seconds(hour * _SECONDS))
