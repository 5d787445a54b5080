"""A logged decision, made again: by the same policy it is the same, by another one what that would decide."""

import asyncio
import json
import re
import shlex
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.__main__ import main
from service.audit.seals import RevisionSeals
from service.authz.engine.policy import Policy
from service.authz.engine.rules import ENDPOINT, GRANT, RESOURCE, SERVICE, Rule
from service.authz.publishing.shipped import read_shipped
from service.features.decision_log.decision_event import DecisionEvent, encoded
from service.features.policy_tests.replay import Replayed, replay
from service.kernel.codes import HeldCodes
from service.kernel.identity import Caller
from service.laboratory.analysis.sources import PastPolicies, export, read_policy, source_named, static_policy
from service.records.database.transactions import Database
from tests.features.access_requests.test_emergencies import close
from tests.features.access_requests.test_requests import ASKED, ONE, after, asked, decide, ruled
from tests.features.export.world import LINES, World, caller, world
from tests.policies.stock import MODEL, POLICIES, ROOT
from tests.support.demands import undemanding
from tests.support.inside import all_decisions, inside_published
from tests.support.members import member, query

CODES = ("*", "thing:*", "thing:list", "thing:read", "thing:delete", "thing:drop", "other")
REQUESTS = (
    "GET /api/thing/1",
    "GET /api/thing/7",
    "GET /api/thing/word",
    "PUT /api/thing/1",
    "PUT /api/thing/2",
    "PUT /api/thing/3",
    "PUT /api/thing/5",
    "GET /api/device/kiosk",
    "GET /api/device/phone",
)
PAGE = (ROOT / "docs" / "guides" / "prove-and-compare.md").read_text("utf-8")
DECISION = re.compile(r"r[0-9]+-\w{8}-\w{12}")

PUBLIC = "/api/public/s3cret"
SEVENTH = Rule(RESOURCE, "GET /api/thing/7", "thing:seventh")
KIOSK = Rule(RESOURCE, "GET /api/device/kiosk", "@login")
OTHER = [
    *(line for line in LINES if line not in (SEVENTH, KIOSK)),
    Rule(RESOURCE, "GET /api/device/kiosk", "device:kiosk"),
]
"""Everybody who may see things may see the seventh; the kiosk needs a code."""

TOLD = """\
3 of 19 decisions would come out differently.
Would be refused:
  GET /api/device/{device}  staff: 2 decisions of 2 users, such as r12-…
    refused by resource GET /api/device/kiosk, which needs device:kiosk
Would be allowed:
  GET /api/thing/{id}  staff: 1 decision of 1 user, such as r12-…
    refused by resource GET /api/thing/7, which needs thing:seventh
1 line of other logs skipped.
1 line could not be read.
"""

_COLUMNS = (
    "user_id, user_name, role_id, role_code, duration, state, end_time, asked_decision_id, stage_codes,"
    " stage_approvals, grant_needed, create_time, deadline, granted_from, granted_until"
)
EMERGENCY = (
    f"INSERT INTO sys.access_request (assignment_id, emergency, {_COLUMNS})"
    f" SELECT assignment_id + 1000, true, {_COLUMNS} FROM sys.access_request RETURNING id"
)
"""Writes the only request, which was approved, once more as an emergency."""

_words = st.sampled_from(("@login", "@nobody", "@anyone"))
_needs = st.lists(st.one_of(_words, st.sampled_from(CODES)), min_size=1, max_size=2, unique=True)
_codes = st.sets(st.sampled_from([code for code in CODES if "*" not in code]), min_size=1, max_size=2)
_resources = st.sampled_from(
    (
        "@unregistered",
        "GET /api/thing/{id}",
        "GET /api/thing/7",
        "DELETE /api/thing/{id}",
        "PUT /api/thing/2",
        "GET /api/device/{name}",
        "GET /api/device/kiosk",
    )
)
_endpoints = (
    "GET /api/thing/{id}",
    "PUT /api/thing/{id}",
    "DELETE /api/thing/{id}",
    "GET /api/device/{device}",
)


@st.composite
def policies(draw: st.DrawFn) -> list[Rule]:
    """The lines of any policy of the few routes."""
    resources = draw(st.dictionaries(_resources, _needs, max_size=4))
    endpoints = draw(st.dictionaries(st.sampled_from(_endpoints), _needs, max_size=4))
    rules = [Rule(RESOURCE, "@no-session", "@anyone"), Rule(ENDPOINT, "GET /api/public/{token}", "@anyone")]
    rules += [Rule(RESOURCE, name, code) for name, codes in resources.items() for code in codes]
    rules += [Rule(ENDPOINT, name, code) for name, codes in endpoints.items() for code in codes]
    services = draw(st.dictionaries(st.sampled_from(("orders list", "orders bind")), _codes, max_size=2))
    rules += [Rule(SERVICE, name, code) for name, codes in services.items() for code in codes]
    granted = draw(st.sets(st.sampled_from([code for code in CODES if "*" not in code])))
    return rules + [Rule(GRANT, code, code) for code in sorted(granted)]


_callers = st.lists(st.sets(st.sampled_from(CODES), max_size=3), min_size=1, max_size=3).map(
    lambda all_held: {f"t{at}": caller(at + 1, *held) for at, held in enumerate(all_held)}
)


def sent_all(callers: dict[str, Caller], lines: list[Rule]) -> World:
    """Return a service to which each caller has sent every request, and a visitor the public one."""
    service = world(callers, lines)

    async def send() -> None:
        for token in callers:
            for request in REQUESTS:
                method, path = request.split(" ")
                await service.ask(method, path, token)
        await service.ask("GET", PUBLIC)

    asyncio.run(send())
    assert len(service.kept.events) == len(callers) * len(REQUESTS) + 1
    return service


def replayed(service: World, policy: Policy) -> Replayed:
    return replay(policy, map(encoded, service.kept.events))


@settings(max_examples=settings().max_examples // 3)  # each sends up to 25 requests
@given(callers=_callers, lines=policies())
def test_the_policy_that_has_decided_decides_every_event_alike(
    callers: dict[str, Caller], lines: list[Rule]
) -> None:
    service = sent_all(callers, lines)
    answer = replayed(service, service.policy)

    assert (answer.events, answer.differing, answer.unreadable) == (len(service.kept.events), 0, 0)


@settings(max_examples=30)
@given(callers=_callers, lines=policies(), others=policies())
def test_another_policy_decides_each_event_as_it_would_decide_the_request(
    callers: dict[str, Caller], lines: list[Rule], others: list[Rule]
) -> None:
    before, after = sent_all(callers, lines), sent_all(callers, others)

    for was, now in zip(before.kept.events, after.kept.events, strict=True):
        if was.method == "PUT" and was.outcome == "deny":
            continue  # what it would have asked after the refusal is not known
        if was.path != now.path:
            continue  # a text that only the other policy registers
        answer = replay(after.policy, [encoded(was)])
        assert answer.differing == (was.outcome != now.outcome), (was, now)


class Done(NamedTuple):
    status: int
    out: str
    errors: str


Command = Callable[..., Done]


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Run ``portcullis policy replay``."""
    monkeypatch.setenv("PORTCULLIS_CONFIG", "")

    def run(*arguments: str) -> Done:
        capsys.readouterr()
        status = main(["policy", "replay", *arguments])
        out, errors = capsys.readouterr()
        source, _, rest = out.partition("\n")
        if "--json" in arguments or not out:
            return Done(status, out, errors)
        assert source == f"Source: the files in {arguments[-1]}"
        return Done(status, rest, errors)

    return run


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """The log of what two users sent, of whom one may see the seventh thing."""
    callers = {"t1": caller(1, "thing:list"), "t2": caller(2, "thing:list", "thing:seventh")}
    service = sent_all(callers, [*LINES])
    path = tmp_path / "decisions.jsonl"
    path.write_bytes(b"".join(map(encoded, service.kept.events)))
    return path


def exported(folder: Path, lines: list[Rule]) -> str:
    export(Policy(MODEL.read_text("utf-8"), undemanding(lines)), folder)
    return str(folder)


def test_against_the_policy_that_decided_nothing_differs(command: Command, log: Path, tmp_path: Path) -> None:
    same = exported(tmp_path / "same", [*LINES])

    assert command(str(log), "--against", same) == (
        0,
        "0 of 19 decisions would come out differently.\n",
        "",
    )


def test_what_differs_is_told_by_request_and_roles_and_the_status_is_2(
    command: Command, log: Path, tmp_path: Path
) -> None:
    other = exported(tmp_path / "other", OTHER)
    with log.open("ab") as more:
        more.write(b'{"event":"request","status":200}\n\n{"event":"decision"}\n')

    done = command(str(log), "--against", other)

    assert (done.status, done.errors) == (2, "")
    assert re.sub(DECISION, "r12-…", done.out) == TOLD


@pytest.mark.parametrize(
    "line", [b"[" * 200_000, b'{"a":' * 200_000, b'{"event":' + b"[" * 100_000, b"x" * 3_000_000]
)
def test_a_line_that_nobody_can_read_is_counted(
    command: Command, log: Path, tmp_path: Path, line: bytes
) -> None:
    same = exported(tmp_path / "same", [*LINES])
    with log.open("ab") as more:
        more.write(line + b"\n")

    done = command(str(log), "--against", same)

    assert done.out.splitlines()[0] == "0 of 19 decisions would come out differently."
    assert re.fullmatch(r"[13] lines? could not be read\.", done.out.splitlines()[1])


def test_as_json_it_says_the_same(command: Command, log: Path, tmp_path: Path) -> None:
    other = exported(tmp_path / "other", OTHER)

    done = command(str(log), "--against", other, "--json")
    answer = json.loads(done.out)

    assert (done.status, answer["events"], answer["differing"], answer["unreadable"]) == (2, 19, 3, 0)
    assert [(group["was"], group["events"], group["users"]) for group in answer["groups"]] == [
        ("allow", 2, 2),
        ("deny", 1, 1),
    ]


def test_a_log_is_read_from_standard_input(
    command: Command, log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    same = exported(tmp_path / "same", [*LINES])
    with log.open() as text:
        monkeypatch.setattr(sys, "stdin", text)
        assert command("-", "--against", same).out == "0 of 19 decisions would come out differently.\n"


def test_a_log_that_is_none_is_an_error(command: Command, tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("no log\n")

    for log, message in (
        (text, "it contains no event"),
        (tmp_path / "none", "can't be read: No such file"),
    ):
        done = command(str(log), "--against", "shipped")
        assert (done.status, done.out) == (1, "")
        assert message in done.errors


def test_what_is_no_policy_is_an_error(command: Command, log: Path) -> None:
    done = command(str(log), "--against", "nothing")

    assert (done.status, "is no policy" in done.errors) == (1, True)


def test_the_page_shows_what_the_command_prints(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (line, output) = re.findall(
        r"```sh\n(portcullis policy replay .*?)\n```\n```text\n(.*?)```", PAGE, re.DOTALL
    )[0]
    shutil.copytree(POLICIES, "proposal/policies")
    shutil.copy(MODEL, "proposal")
    lines = Path("proposal/policies/endpoints.csv")
    old = "p, endpoint, GET /api/user/{id}, system:user:detail\n"
    assert old in lines.read_text("utf-8")
    lines.write_text(lines.read_text("utf-8").replace(old, old.replace("detail", "private")), "utf-8")
    policy = static_policy(read_shipped())
    asked = [(12, "auditor", "system:user:detail"), (14, "auditor", "system:user:detail"), (15, "desk", "a")]
    events = [_detail(policy, *request) for request in asked]
    Path("decisions.jsonl").write_bytes(b"".join(map(encoded, events)))

    done = command(*shlex.split(line)[3:])

    assert (done.status, done.errors) == (2, "")
    source, _, rest = output.partition("\n")
    assert source == "Source: the files in proposal"
    assert re.sub(DECISION, "", done.out) == re.sub(DECISION, "", rest)


def _detail(policy: Policy, user_id: int, role: str, code: str) -> DecisionEvent:
    """Return the event of a user who has asked for another one."""
    decision = policy.judge(ENDPOINT, "GET /api/user/{id}", HeldCodes([code]))
    return DecisionEvent(
        time="2026-11-22T02:48:43.956Z",
        outcome="allow" if decision.allowed else "deny",
        decision=decision.id,
        revision=3,
        own_digest=decision.own_digest,
        request_id="1",
        method="GET",
        route="/api/user/{id}",
        path="/api/user/1",
        user_id=user_id,
        roles=(role,),
        codes=frozenset([code]),
        layer=decision.layer,
        object=decision.object,
    )


ENDS_SOON = "UPDATE sys.user_role SET valid_until = now() + interval '5 minutes' WHERE user_id = %s"


@pytest.mark.feature("access_requests")
async def test_who_approves_by_one_stage_or_by_what_they_may_grant_is_let_again(
    published_database_url: str, redis_url: str, tmp_path: Path
) -> None:
    path = tmp_path / "decisions.jsonl"
    chosen = all_decisions(path)
    async with inside_published(published_database_url, redis_url, **chosen) as house:
        await ruled(house, "system:file:list", stages=[{"code": "system:role:list", "approvals": 1}, ONE])
        heron = await member(house, "heron-1")
        clerk = await member(house, "clerk", "system:user:list")
        kestrel, raven = [
            await member(house, name, "system:user:list", "system:file:list") for name in ("kestrel", "raven")
        ]
        crane = await member(house, "crane", "system:role:list", "system:file:list")
        request = await asked(heron)
        # What kestrel may grant ends before what is asked for does.
        await query(house, ENDS_SOON, kestrel.user_id)
        await kestrel.log_in()
        statuses = [(await decide(person, request)).status for person in (clerk, heron, kestrel)]
        statuses.append((await decide(kestrel, request, until=after(60))).status)
        statuses.append((await decide(crane, request)).status)
        ((emergency,),) = await query(house, EMERGENCY)
        statuses.append((await close(raven, {"id": emergency})).status)
        revision = (await house.data("GET", "/api/policy/revisions"))["items"][0]["revision"]

    assert statuses == [403, 403, 403, 200, 200, 200]
    async with Database(published_database_url) as database:
        past = PastPolicies(read_shipped(), RevisionSeals())
        policy = await read_policy(source_named(str(revision)), past, database)
    deciding = [line for line in path.read_bytes().splitlines() if ASKED.encode() in line]
    answer = replay(policy, deciding)
    assert (answer.events, answer.groups) == (7, ())
    assert sum(b'"lasting"' in line for line in deciding) == 1
