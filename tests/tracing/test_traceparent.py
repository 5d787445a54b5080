"""The header ``traceparent``, and the names of statements."""

from __future__ import annotations

import pytest

from service.records.database.statement_spans import described
from service.web.observability.tracing.traceparent import trace_parent

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
GOOD = f"00-{TRACE}-{SPAN}-01"


def sent(*values: str) -> list[tuple[bytes, bytes]]:
    return [(b"host", b"x"), *((b"traceparent", value.encode("latin-1")) for value in values)]


@pytest.mark.parametrize(
    ("value", "sampled"),
    [(GOOD, True), (GOOD[:-2] + "00", False), (GOOD[:-2] + "fe", False), ("cc" + GOOD[2:] + "-more", True)],
)
def test_a_well_formed_header_is_read(value: str, sampled: bool) -> None:
    assert trace_parent(sent(value)) == (int(TRACE, 16), int(SPAN, 16), sampled)


@pytest.mark.parametrize(
    "value",
    [
        "",
        GOOD.upper(),
        GOOD + "-more",
        GOOD + " ",
        GOOD[1:],
        "ff" + GOOD[2:],
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE[:-1]}g-{SPAN}-01",
        "cc" + GOOD[2:] + "-" + "x" * 200,
        "cc" + GOOD[2:] + "more",
        GOOD + "\n",
        "\xff" * 55,
    ],
)
def test_any_other_is_ignored(value: str) -> None:
    assert trace_parent(sent(value)) is None


def test_one_that_is_missing_or_repeated_is_ignored() -> None:
    assert trace_parent(sent()) is None
    assert trace_parent(sent(GOOD, GOOD)) is None


@pytest.mark.parametrize(
    ("statement", "name"),
    [
        ('SELECT sys."user".id FROM sys."user" WHERE sys."user".name = %(n)s', "SELECT sys.user"),
        ("INSERT INTO sys.role (id) VALUES (%(id)s) RETURNING id", "INSERT sys.role"),
        ("UPDATE sys.menu SET name='FROM secret'", "UPDATE sys.menu"),
        ("DELETE FROM sys.user_role WHERE 1=1", "DELETE sys.user_role"),
        ("WITH RECURSIVE t AS (SELECT 1 FROM sys.menu) SELECT * FROM t", "SELECT sys.menu"),
        ("SELECT pg_advisory_xact_lock(%(key)s)", "SELECT"),
        ("SET LOCAL statement_timeout = 9000", "SET"),
        (b"\n  select 1", "SELECT"),
        ("", "STATEMENT"),
    ],
)
def test_statements_are_told_by_verb_and_table(statement: str | bytes, name: str) -> None:
    assert described(statement).name == name
