"""Requests for roles in the operation log."""

from service.administration.change_log import role_target
from service.kernel.origin import FieldChange, values_change


def of_request(request_id: int, role_code: str, what: str) -> list[FieldChange]:
    """Return the log entry of a request's event; evidence finds the request by the name set here."""
    return values_change(role_target(role_code), f"accessRequest {request_id}", (), [what])
