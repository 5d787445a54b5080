"""The schema of a database as pg_dump tells it, so that two databases can be compared."""

import re
import subprocess
from typing import Final

from service.features.embedded.program import postgres_program

_ENTRY: Final = re.compile(r"^-- Name: .*; Type: (.+); Schema: .*; Owner: .*$", re.MULTILINE)
_OF_A_MONTH: Final = re.compile(r"_log_\d{4}_\d{2}")
_OF_A_PARTITION: Final = re.compile(r"\b(\w+_log_default)_\w+_idx\d*\b")
_NOTHING: Final = re.compile(r"--|SET |SELECT pg_catalog\.set_config|\\|$")


def dump_of(url: str) -> str:
    """Return the SQL that makes the schema of the database at ``url``."""
    words = [str(postgres_program("pg_dump")), "--schema-only", "--no-owner", url]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def schema_of(url: str) -> list[str]:
    """Return all definitions in the database at ``url``, sorted, each with its comments and permissions.

    Columns stand in the order of their lines, since migrations append them. Left out are the partitions for
    months, which the service makes later, and the names of indexes of partitions, which PostgreSQL chooses.
    """
    _, *parts = _ENTRY.split(dump_of(url))
    entries = zip(parts[::2], map(_statement, parts[1::2]), strict=True)
    return sorted(
        "\n".join((kind, *(sorted(lines) if kind == "TABLE" else lines)))
        for kind, lines in entries
        if not any(_OF_A_MONTH.search(line) for line in lines)
    )


def _statement(text: str) -> list[str]:
    lines = [line.strip().removesuffix(",") for line in text.splitlines()]
    return [_OF_A_PARTITION.sub(r"\1_idx", line) for line in lines if not _NOTHING.match(line)]
