"""docs/guides/reviewing.md: what its commands print and its requests answer, on an installation in use."""

import json
import re
import shlex
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.docs.pages import ROOT, between
from tests.log_reading.entries import person
from tests.support.inside import Inside
from tests.support.members import ids_of

PAGE = (ROOT / "docs" / "guides" / "reviewing.md").read_text("utf-8")
IMPORT = {"resourceName": "Import", "resourceCode": "import", "method": "POST", "path": "/api/user/import"}
QUESTIONS = ("who", "what", "log", "openings", "what-if")
REQUEST = re.compile(r'curl -H "Authorization: Bearer \$token" "\$base(/\S+)"')


def shown(name: str, kind: str) -> list[tuple[str, str]]:
    """Return each command line of a part of the page that is followed by what it prints, as ``kind``."""
    return re.findall(rf"```sh\n([^\n]*)\n```\n```{kind}\n(.*?)```", between(PAGE, name), flags=re.DOTALL)


def pattern(text: str) -> str:
    return ".*".join(map(re.escape, text.split("…")))


@pytest.fixture(scope="module")
async def used(shared: Inside) -> Inside:
    """The installation of the page; requests are those of ``rita``."""
    await person(shared.database_url, "rita", "auditor")
    saved = await shared.data("POST", "/api/resource", IMPORT)
    buttons = {"menuIds": await ids_of(shared, "system:user:import")}
    await shared.data("PUT", f"/api/resource/{saved['id']}/buttons", buttons, ("If-Match", "*"))
    shared.token = await shared.log_in("rita")
    return shared


@pytest.mark.parametrize(
    ("part", "names"),
    [
        pytest.param("questions", QUESTIONS, marks=pytest.mark.feature("tables")),
        pytest.param("tour", ("check", "test"), marks=pytest.mark.extended),
    ],
    ids=["questions", "tour"],
)
async def test_the_commands_print_what_the_page_shows(
    used: Inside, command_on: Callable[[Inside], Callable[..., Any]], part: str, names: tuple[str, ...]
) -> None:
    command = command_on(used)
    commands = shown(part, "text")

    arguments = [shlex.split(line) for line, _ in commands]
    assert [(words[0], words[1]) for words in arguments] == [("portcullis", "policy")] * len(arguments)
    assert [words[2] for words in arguments] == list(names)
    for (_, text), given in zip(commands, arguments, strict=True):
        printed = await command(*given[2:], whole=True)
        assert re.fullmatch(pattern(text), printed, flags=re.DOTALL), printed


@pytest.mark.feature("tables")
async def test_an_auditor_is_answered_what_the_page_shows(used: Inside) -> None:
    requests = shown("questions", "json")

    assert len(requests) == len(QUESTIONS)
    for line, text in requests:
        match = REQUEST.fullmatch(line)
        assert match is not None
        day = (datetime.now(UTC) - timedelta(days=7)).strftime("%Y-%m-%dT00:00:00Z")
        answer = await used.ask("GET", re.sub(r"(?<=from=).*", day, match[1]))
        assert answer.status == 200, answer.body
        body = json.dumps(answer.json, ensure_ascii=False)
        expected = pattern(re.sub(r"\s", "", text))
        assert re.fullmatch(expected, re.sub(r"\s", "", body), flags=re.DOTALL), body


def test_each_question_has_one_command_and_one_request() -> None:
    commands, requests = shown("questions", "text"), shown("questions", "json")

    assert [shlex.split(line)[2] for line, _ in commands] == list(QUESTIONS)
    assert [line.partition("/api/policy/")[2].partition("?")[0].rstrip('"') for line, _ in requests] == [
        "revisions" if name == "log" else name for name in QUESTIONS
    ]
