"""Requests for roles in the operation log."""

from service.administration.change_log import role_target
from service.kernel.origin import FieldChange, values_change


def of_request(request_id: int, role_code: str, what: str) -> list[FieldChange]:
    """Return what has become of a request for a role: evidence finds it by its name here."""
    return values_change(role_target(role_code), f"accessRequest {request_id}", (), [what])
