"""Requests and approvers behind assignments."""

from typing import Any

import sqlalchemy as sa

from service.features.access_requests.schema import access_decision, access_request


def approved(assignment_id: sa.ColumnElement[int]) -> list[sa.ColumnElement[Any]]:
    """Return the columns ``access_request_id`` and ``approved_by`` of an assignment; see ``assignments``."""
    of_assignment = access_request.c.assignment_id == assignment_id
    request = sa.select(access_request.c.id).where(of_assignment).scalar_subquery()
    names = (
        sa.select(access_decision.c.user_name)
        .join(access_request, access_request.c.id == access_decision.c.request_id)
        .where(of_assignment, access_decision.c.decision == "approve")
        .order_by(access_decision.c.id)
        .scalar_subquery()
    )
    return [request.label("access_request_id"), sa.func.array(names).label("approved_by")]
