"""Every command that answers who may do what reads the installation, and says what it has read."""

import re
import shlex
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from service.features.embedded.stores import EmbeddedStores
from tests.docs.pages import ROOT
from tests.features.explain.test_instants import NOTHING_TESTED
from tests.features.explain.test_refusals_by_id import known
from tests.log_reading.entries import person
from tests.support.databases import database, session_store
from tests.support.inside import Inside, denial_log, inside_published
from tests.support.members import ids_of
from tests.support.running import portcullis, running

PAGE = (ROOT / "docs" / "guides" / "reviewing.md").read_text("utf-8")
COMPARING = (ROOT / "docs" / "guides" / "prove-and-compare.md").read_text("utf-8")
ORDER = {
    "resourceName": "Order",
    "resourceCode": "order",
    "service": "orders",
    "method": "GET",
    "path": "/orders/{id}",
}
OLD = {"resourceName": "Old", "resourceCode": "old", "method": "GET", "path": "/api/old"}
BOUND = "system:user:import"
"""The Button that ``GET /api/user/list`` is bound to in place of its own: no file says so."""


@pytest.fixture(scope="module")
async def logged(
    stores: EmbeddedStores, published_template: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[tuple[Inside, dict[str, str]]]:
    """An installation whose policy is not that of the files, and what stands for names in its questions."""
    folder = tmp_path_factory.mktemp("logged")
    named = {"LOG": str(folder / "decisions.jsonl"), "REPORT": str(folder / "report.md")}
    chosen = denial_log(Path(named["LOG"]))
    with database(stores, published_template) as url, session_store(stores) as redis_url:
        async with inside_published(url, redis_url, **chosen) as service:
            await person(url, "rita", "auditor")
            (listing,) = (await service.data("GET", "/api/resource/list?path=/api/user/list"))["items"]
            buttons = {"menuIds": await ids_of(service, BOUND)}
            await service.data("PUT", f"/api/resource/{listing['id']}/buttons", buttons, ("If-Match", "*"))
            await service.data("POST", "/api/resource", OLD)
            await service.data("POST", "/api/service", {"name": "orders"})
            order = await service.data("POST", "/api/resource", ORDER)
            opening = {"service": "orders", "resourceId": order["id"], "code": "@login"}
            await service.data("POST", "/api/opening", opening)
            admin = service.token
            service.token = await service.log_in("rita")
            refused = await service.ask("GET", "/api/user/list")
            service.token = admin
            await known(service, refused)
            named["DECISION"] = refused.json["decisionId"]
            yield service, named


ANSWERS = {
    "Who may delete users?": {"who DELETE /api/user/{id} --users": "admin"},
    "What can the role `auditor` do?": {"what --role auditor": "GET /api/role/list"},
    "Which endpoints need no role?": {"openings": "orders GET /orders/{id}"},
    "Which access ends if this code leaves this role?": {
        "what-if --role auditor --without system:role:list": "- auditor (1 user)"
    },
    "What if this user had this role, or this resource opened to this code?": {
        "what-if --resource 'GET /api/user/list' --with system:user:list": "+ auditor (1 user)"
    },
    "What changed last week, and by whom?": {"log --since 7d": f"+ p, resource, GET /api/user/list, {BOUND}"},
    "What has changed since revision 12, or since my last sign-off?": {
        "changes --since 1": f"+ p, resource, GET /api/user/list, {BOUND}"
    },
    "Which roles pass which requests?": {
        "matrix": '"GET /api/user/list","@login @service","system:*","","*"'
    },
    "Which rights are unused, and which smaller roles suffice?": {"unused --days 90": "Use is unknown"},
    "Why is this request allowed or refused?": {
        "explain rita GET /api/user/list": f"p, resource, GET /api/user/list, {BOUND}"
    },
    "What was this refusal about?": {"refusal DECISION": f"p, resource, GET /api/user/list, {BOUND}"},
    "Tests and findings": {"lint": "resource-without-route: GET /api/old"},
    "A report for an auditor": {"report --output REPORT": "The report is in"},
    "For every possible caller": {
        "prove GET /api/user/list": f"resource: p, resource, GET /api/user/list, {BOUND}"
    },
    "Replay past decisions": {"replay LOG --against live": "0 of "},
    "Compare two policies": {"diff shipped live": f"+ p, resource, GET /api/user/list, {BOUND}"},
}
"""By question or heading of the two pages: commands, and what only the installation could answer."""


def questions() -> list[str]:
    rows = re.findall(r"^\| (.+?) \| `portcullis policy .*$", PAGE, re.MULTILINE)
    sections = PAGE.partition("questions:end -->")[2] + COMPARING
    return [*rows, *re.findall(r"^## (.*)$", sections, re.MULTILINE)]


def test_each_question_of_the_page_is_answered_below() -> None:
    assert list(ANSWERS) == questions()


async def test_every_question_of_the_page_is_answered_by_the_installation(
    logged: tuple[Inside, dict[str, str]],
    command_on: Callable[[Inside], Callable[..., Any]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    service, named = logged
    command = command_on(service)
    # tests/policies asks the shipped tables, test_report_files.py has what a report says of them.
    monkeypatch.setattr(
        "service.features.policy_tests.report_gathering.tested", lambda *_, **__: NOTHING_TESTED
    )
    for question, commands in ANSWERS.items():
        for line, expected in commands.items():
            words = [named.get(word, word) for word in shlex.split(line)]
            printed = await command(*words, status=1 if words[0] == "lint" else 0)
            assert expected in printed, (question, printed)
    page = Path(named["REPORT"]).read_text("utf-8")  # noqa: ASYNC240 - nothing else waits
    assert f"| `GET /api/user/list` | `{BOUND}` |" in page
    assert "what is stored in the database" in page


async def test_a_path_that_another_service_has_registered_is_said_to_be_its_own(
    logged: tuple[Inside, dict[str, str]], command_on: Callable[[Inside], Callable[..., Any]]
) -> None:
    service, _ = logged
    command = command_on(service)
    words = ("GET", "/orders/7")

    for asked in (
        ("who", *words),
        ("who", *words, "--users"),
        ("prove", *words),
        ("explain", "rita", *words),
    ):
        printed = await command(*asked)
        assert "No route of this service serves it" in printed, asked
        assert "The service orders has registered it: use --service orders." in printed, asked
    nowhere = await command("who", "GET", "/nowhere")
    answer = await service.data("GET", "/api/policy/who?method=GET&path=/orders/7")
    question = {"userName": "rita", "method": "GET", "path": "/orders/7"}
    explained = await service.data("POST", "/api/policy/explain", question)

    assert "orders" not in nowhere
    assert (answer["registeredBy"], explained["registeredBy"]) == (["orders"], ["orders"])


async def test_the_condition_of_a_request_to_another_service_is_proved(
    logged: tuple[Inside, dict[str, str]], command_on: Callable[[Inside], Callable[..., Any]]
) -> None:
    command = command_on(logged[0])

    def shown(printed: str) -> tuple[str, ...]:
        return tuple(line.strip() for line in printed.splitlines())

    for path in ("/orders/7", "/orders/{id}"):
        assert shown(await command("prove", "GET", path, "--service", "orders")) == (
            "orders GET /orders/{id}",
            "resource: p, resource, orders GET /orders/{id}, @login",
            "Without a login: never passes.",
            "With a login: passes, whatever codes are held.",
        )
    assert shown(await command("prove", "POST", "/orders/7", "--service", "orders")) == (
        "orders POST /orders/7",
        "resource: no line for orders @unregistered",
        "Without a login: never passes.",
        "With a login: never passes, whatever codes are held.",
    )


@pytest.mark.extended
def test_the_embedded_installation_of_the_settings_is_read_without_an_option(tmp_path: Path) -> None:
    data = tmp_path / "data"
    named = {"PORTCULLIS_SERVER__DATA": str(data)}
    files = portcullis(tmp_path, "policy", "prove", "GET", "/api/user/list", **named)
    with running(tmp_path, **named):
        for line, expected in {
            "prove GET /api/user/list": "resource: p, resource, GET /api/user/list, system:user:list",
            "who GET /api/user/list": "resource: p, resource, GET /api/user/list, system:user:list",
            "lint": "0 findings in files and database",
        }.items():
            done = portcullis(tmp_path, "policy", *line.split(), **named)
            source, _, answer = done.output.partition("\n")
            assert done.status == 0, done.errors
            assert source.startswith("Source: ")
            assert f"the embedded database in {data}" in source
            assert expected in answer
        alone = portcullis(tmp_path, "policy", "lint", "--files", **named)
    mistyped = portcullis(tmp_path, "policy", "who", "GET", "/api/user/list", "--data", str(tmp_path / "no"))

    assert files.output.startswith(
        f"Source: the policy files, without registered resources; there is no installation in {data}\n"
        "GET /api/user/list\n  resource: p, resource, @unregistered, @login\n"
    )
    assert alone.output.startswith("Source: the policy files alone\n0 findings in files;")
    assert (mistyped.status, mistyped.output) == (1, "")
    assert "There is no installation" in mistyped.errors
    assert not (tmp_path / "no").exists()
