"""The job of expired assignments; no right depends on the job."""

from functools import partial

from service.features.assignments import store_ends
from service.features.assignments.upkeep import settle_ends
from service.jobs.job import Job
from service.kernel.notify import notices_of
from service.settings import Settings


def jobs(settings: Settings) -> tuple[Job, ...]:
    return (
        Job(
            "role-ends",
            "Archive ended assignments, and notify users seven days and one day before an assignment ends",
            partial(settle_ends, notices=notices_of(settings)),
            30.0,
            retry=60.0,
            pending=store_ends.is_due,
            after="old-notices",
        ),
    )
