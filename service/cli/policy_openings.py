"""``portcullis policy openings``: the requests that need no role."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping

from service.authz.proof.demands import demanded
from service.authz.review.sources import Source
from service.cli.output import aligned, show
from service.cli.policy_reviewing import Review, add_review, review_one
from service.endpoints.policy_who_may import OpenRequest, openings_answer
from service.kernel.text import counted
from service.reporting.wording import by
from service.web.messages.schema import WHOLE_LIST, Page, PageQuery


def add_arguments(parser: ArgumentParser) -> None:
    """Add nothing but the policy."""
    add_review(parser)


def run(options: Namespace, environ: Mapping[str, str]) -> None:
    """Print the requests; raises ``PolicyError``."""

    async def ask(review: Review, source: Source) -> Page[OpenRequest]:
        return openings_answer(await review.policy(source), PageQuery(page=1, size=WHOLE_LIST))

    answer = review_one(options, environ, ask)
    show(options, answer, lambda: _lines(answer))


def _lines(answer: Page[OpenRequest]) -> list[str]:
    rows = [
        (
            request.object,
            request.needs,
            " ".join(demanded(request.assurance)),
            by(request.resource),
            by(request.endpoint),
        )
        for request in answer.items
    ]
    head = ("REQUEST", "NEEDS", "AUTHENTICATION", "RESOURCE", "ENDPOINT")
    return [*aligned([head, *rows]), f"{counted(answer.total, 'request')}."]
