"""``portcullis policy openings``: the requests that need no role."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping

from service.authz.review.sources import Source
from service.endpoints.policy.access import OpenRequest, openings_answer
from service.kernel.text import counted
from service.launch.output import ALL, aligned, show
from service.launch.policy.passages import by
from service.launch.policy.reviewing import Review, add_review, review_one
from service.web.requests.schema import Page, PageQuery


def add_arguments(parser: ArgumentParser) -> None:
    """Add nothing but the policy."""
    add_review(parser)


def run(options: Namespace, environ: Mapping[str, str]) -> None:
    """Print the requests; raises ``PolicyError``."""

    async def ask(review: Review, source: Source) -> Page[OpenRequest]:
        return openings_answer(await review.policy(source), PageQuery(page=1, size=ALL))

    answer = review_one(options, environ, ask)
    show(options, answer, lambda: _text(answer))


def _text(answer: Page[OpenRequest]) -> str:
    rows = [(one.object, one.needs, by(one.resource), by(one.endpoint)) for one in answer.items]
    head = ("REQUEST", "NEEDS", "RESOURCE", "ENDPOINT")
    return "\n".join([aligned([head, *rows]), f"{counted(answer.total, 'request')}."])
