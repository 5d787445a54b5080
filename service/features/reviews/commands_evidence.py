"""``portcullis evidence``: archives for auditors about a review, a request, or a user between two dates."""

import asyncio
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Final

from service.administration.change_log import user_target
from service.audit.journal import enter
from service.cli.lazy_commands import Parts, add_data
from service.cli.output import say
from service.features.reviews.evidence_making import (
    maker_of,
    request_evidence,
    review_evidence,
    user_evidence,
)
from service.operator.database import with_database
from service.operator.stores import reachable
from service.operator.who import operator_event, operator_name
from service.records.database.transactions import Database
from service.settings import load


def _add_number(parser: ArgumentParser) -> None:
    parser.add_argument("id", type=int, help="its id")
    _add_usual(parser)


def _add_user(parser: ArgumentParser) -> None:
    parser.add_argument("user_name", metavar="USER", help="the user name")
    parser.add_argument(
        "--from", dest="begin", type=_time, required=True, metavar="TIME", help="from then on"
    )
    parser.add_argument("--to", dest="end", type=_time, required=True, metavar="TIME", help="before")
    _add_usual(parser)


def _add_usual(parser: ArgumentParser) -> None:
    parser.add_argument("--output", metavar="FILE", type=Path, required=True, help="the archive to write")
    add_data(parser)


def _time(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise ArgumentTypeError(f"{text!r} is no time such as 2026-11-15 or 2026-11-15T12:00:00Z") from error
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _run(options: Namespace, environ: Mapping[str, str]) -> None:
    """Write the archive; raises ``NotFound``, ``SchemaError``, ``Unavailable``, and OSError for the file."""
    begun = perf_counter()
    with reachable(load(environ)) as settings:
        maker = maker_of(settings.oplog, datetime.now(UTC), operator_name())

        async def made(database: Database) -> bytes:
            if options.action == "user":
                period = options.begin, options.end
                return await user_evidence(database, maker, options.user_name, *period)
            make = review_evidence if options.action == "review" else request_evidence
            return await make(database, maker, options.id)

        data = with_database(settings, made)
        options.output.write_bytes(data)
        # A name is a target, which an erasure can take out; the address of an entry stays.
        by_name = options.action == "user"
        command = "evidence user" if by_name else f"evidence {options.action} {options.id}"
        event = operator_event(
            command,
            begun,
            module="review",
            action="export evidence",
            kind="EXPORT",
            targets=(user_target(options.user_name),) if by_name else None,
        )
        asyncio.run(enter(settings, event))
    say(f"The evidence is in {options.output}: `portcullis audit verify --evidence` verifies it.")


COMMANDS: Final[Parts] = {
    "review": (_add_number, _run),
    "request": (_add_number, _run),
    "user": (_add_user, _run),
}
