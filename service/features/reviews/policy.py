"""The policy lines of reviews: holders of a review's code may decide in it."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

from service.authz.engine.rules import REVIEW
from service.authz.publishing.contributions import Contribution
from service.kernel.request_objects import assignment_for, code_of_review


async def _codes(connection: Any) -> Collection[str]:
    from service.features.reviews import store  # noqa: PLC0415 - decision tables need no database

    return await store.codes(connection)


def _lines(codes: Iterable[str]) -> Mapping[str, tuple[str, ...]]:
    return {assignment_for("others", code): (code,) for code in sorted(codes)}


LINES: Final = Contribution(REVIEW, "reviewed_by", _codes, _lines, code_of_review)
"""A line for each code of a review, including closed reviews."""
