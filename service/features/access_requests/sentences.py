"""The sentences of refusals and faults of the feature: see ``service.kernel.coded_sentences``."""

from typing import Final

from service.kernel.core_sentences import feature_sentences

sentence: Final = feature_sentences(
    {
        "request_by_key": "Only people can request roles; API keys cannot",
        "decision_by_key": "Only people can decide about requests; API keys cannot",
        "no_such_request": "There is no such request",
        "no_requestable_role": "No role with this id or code can be requested",
        "duration_or_until": "Send either duration or until",
        "start_in_emergency": "must be empty in an emergency: the role starts at once",
        "reason_required_by_role": "A reason is required for this role",
        "not_after_request_start": "must be in the future and after the start",
        "approval_extends": "An approval can shorten the requested duration, but not extend it",
        "duration_too_long": "must be at most {most} seconds",
        "start_too_late": "must be within {days} days",
        "end_too_late": "must be at most {most} seconds after the start",
        "emergency_not_closed": "{user} got the role in an emergency that is not closed: request {request}",
        "role_not_allowed_to_request": "You are not allowed to request the role {role}",
        "request_closed": "The request is already closed: it is {state}",
        "only_author_withdraws": "Only the author of a request can withdraw it",
        "no_emergency": "This request gave no role in an emergency",
        "emergency_closed": "{user} has already closed it",
        "request_not_decidable": "You are not allowed to decide about this request",
        "request_not_decidable_by": "You are not allowed to decide about this request: {why}",
        "appointed_by_author": "the author gave you the permission to approve it",
        "author_gone": "Its author was disabled, banned or deleted",
        "author_not_allowed": "The author is no longer allowed to request the role",
        "end_passed": "Its end has passed",
        "role_had_until_then": "The author already has the role until then",
        "too_few_approvals": "Too few of its approvals are still valid at the start",
        "request_pending": "You already have a pending request for this role",
        "too_many_pending_requests": "You have {most} pending requests: withdraw one of them",
        "too_many_requests_in_an_hour": "You have made {most} requests within an hour. Try again later",
        "role_held": "You already have this role",
        # Findings
        "role_of_request": "{role} of {user} (access request {request})",
        "open_emergencies": "{count} roles were granted in an emergency that is not closed: {names}",
        "close_emergencies": "ask an approver of the request to close it: docs/reference/roles-and-menus.md",
        "no_open_emergency": "all emergencies are closed",
        "no_request_due": "nothing is due",
        "requests_settled": "{given} of {begun} roles assigned, {expired} requests expired, "
        "{notified} authors notified",
    }
)
