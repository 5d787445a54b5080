"""``portcullis policy matrix``: which roles pass which requests, as CSV or HTML."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from pathlib import Path

from service.authz.review.impact import Standing
from service.authz.review.matrix import Matrix, as_csv, as_html
from service.authz.review.sources import Source
from service.cli.output import say, show
from service.cli.policy_reviewing import Review, add_review, review_one
from service.endpoints.policy_matrix import MatrixQuery, matrix_answer
from service.kernel.text import counted
from service.web.messages.schema import WHOLE_LIST


def add_arguments(parser: ArgumentParser) -> None:
    """Add the file and its format."""
    parser.add_argument(
        "--output", metavar="FILE", type=Path, help="write FILE: HTML if it ends in .html, else CSV"
    )
    add_review(parser)


def run(options: Namespace, environ: Mapping[str, str]) -> None:
    """Print CSV, or write the file; raises ``PolicyError`` and OSError."""

    async def read(review: Review, source: Source) -> Standing:
        return await review.standing(source)

    standing = review_one(options, environ, read)
    if options.json and options.output is None:
        show(options, matrix_answer(standing, MatrixQuery(page=1, size=WHOLE_LIST)), list)
        return
    matrix = Matrix(standing)
    if options.output is None:
        for line in as_csv(matrix):
            say(line.rstrip())
        return
    parts = as_html(matrix) if options.output.suffix == ".html" else as_csv(matrix)
    with options.output.open("wb") as file:
        file.writelines(part.encode() for part in parts)
    roles, requests = counted(len(matrix.roles), "role"), counted(len(matrix.requests), "request")
    say(f"{roles} and {requests} in {options.output}.")
