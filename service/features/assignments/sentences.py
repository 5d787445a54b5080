"""The sentences of refusals and faults of the feature: see ``service.kernel.coded_sentences``."""

from typing import Final

from service.kernel.core_sentences import feature_sentences

sentence: Final = feature_sentences(
    {
        "assignment_exists": "The user already has this assignment",
        "assignment_ended": "The assignment has ended",
        "assignment_started": "The assignment has already started: end it, and assign the role again",
        "start_of_request": "The start cannot be changed: it was set by the approved request",
        "end_after_request": "The end cannot be later than in the approved request",
        "no_such_assignment_of_user": "The user has no such assignment",
        "role_id_or_code": "Give either roleId or roleCode",
    }
)
