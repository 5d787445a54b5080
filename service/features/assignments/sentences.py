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
        # Findings
        "assignments_end": "{count, plural, one {# assignment ends} other {# assignments end}} within {days} "
        "days, {tomorrow} of them within a day: {names}",
        "extend_assignments": "extend the assignments that are still needed",
        "assignments_break_demands": "{count} assignments exceed the longest duration of their roles, or "
        "lack a reason: {names}",
        "mend_assignments": "set an end and a reason, or end them",
        "no_assignment_ends": "no assignment ends within {days} days",
        "assignments_meet_demands": "all assignments meet the requirements of their roles",
        "role_of_user_until": "{role} of {user} ({time})",
        "role_of_user": "{role} of {user}",
        "roles_ended": "roles of {users} users have ended, {notices} notices of a coming end sent",
    }
)
