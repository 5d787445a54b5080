"""The findings of a running service, by request."""

import ast
import asyncio
import inspect
import sys
import threading
from pathlib import Path
from types import FunctionType, SimpleNamespace
from typing import Any

import pytest

from service.errors import Unavailable
from service.features.operations.api import ON_THE_NODE, CheckFinding, _shown
from service.features.operations.checks import checks_for
from service.features.operations.diagnosis import latest
from service.features.operations.diagnosis.examination import marked
from service.features.operations.diagnosis.file_checks import signing_key
from service.features.operations.diagnosis.latest import LatestFindings
from service.features.operations.diagnosis.policy_checks import policy_files
from service.operator.findings import Finding, Findings, Installation, fault, ok
from service.settings import Policy, Server, Settings
from tests.support.inside import Inside
from tests.support.without import OFF_NAMES


async def test_every_check_is_made_and_its_finding_shown(service: Inside) -> None:
    report = await service.data("GET", "/api/system/findings")
    items = {finding["check"]: finding for finding in report["items"]}
    assert list(items) == [check.name for check in checks_for(OFF_NAMES)]
    assert items["database"]["state"] == items["session-store"]["state"] == "ok"
    assert items["database"]["message"].startswith("PostgreSQL ")
    assert "itself failed" not in str(report)
    assert items["database"]["code"] == "server_version"
    assert items["database"]["params"] == {"version": items["database"]["message"]}
    assert {finding["remedy"] is None for finding in items.values() if finding["remedyCode"] is None} <= {
        True
    }
    assert "other" not in {code for each in items.values() for code in (each["code"], each["remedyCode"])}
    again = await service.data("GET", "/api/system/findings")
    assert again == report


async def test_paths_and_addresses_of_the_node_are_not_shown(service: Inside) -> None:
    report = await service.data("GET", "/api/system/findings")
    messages = {finding["check"]: (finding["state"], finding["message"]) for finding in report["items"]}
    for name in (check.name for check in checks_for(OFF_NAMES) if check.local):
        state, message = messages[name]
        assert message == ("OK" if state == "ok" else ON_THE_NODE)
    assert "/" not in messages["data-directory"][1]


def shown_of(name: str, finding: Finding) -> CheckFinding:
    """Return what the API shows of a finding of the check with that name."""
    (check,) = (each for each in checks_for() if each.name == name)
    return _shown(name, marked(check, finding))


def test_a_faulty_policy_file_of_the_node_is_not_named(tmp_path: Path) -> None:
    model = tmp_path / "model.conf"
    model.write_text("no model")
    finding = policy_files(Installation({}, Settings(policy=Policy(model=model)), lambda _shipped: []))
    assert finding.state == "fault"
    assert str(tmp_path) in finding.message  # for the operator of the node
    shown = shown_of("policy-files", finding)
    assert (shown.state, shown.message, shown.remedy) == ("fault", ON_THE_NODE, None)


def test_what_is_wrong_with_a_signing_key_is_for_the_operator_of_the_node(tmp_path: Path) -> None:
    secret = tmp_path / "jwt_secret"
    secret.write_text("x" * 64)
    secret.chmod(0o644)
    settings = Settings(server=Server(data=tmp_path))
    finding = signing_key(Installation({}, settings, lambda _shipped: []))
    assert finding.state == "fault"
    assert str(tmp_path) in finding.message
    for name in ("signing-key", "previous-key"):
        assert shown_of(name, finding).message == ON_THE_NODE


async def test_many_who_ask_get_the_findings_of_one_look_until_they_are_old(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks = 0

    async def examine(*given: Any) -> Findings:
        nonlocal looks
        looks += 1
        return [(check.name, ok("together")) for check in given[3]]

    monkeypatch.setattr(latest, "examine", examine)
    findings = LatestFindings(Settings(), lambda _shipped: [], kept=0.05)
    first = await asyncio.gather(*(findings.read() for _ in range(10)))
    assert (len({id(examined) for examined in first}), looks) == (1, 1)
    await asyncio.sleep(0.06)
    assert (await findings.read()).begun > first[0].begun
    assert looks == 2


async def test_a_slow_check_is_made_again_after_a_while_by_another_policy_and_after_a_fault(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sealed, changed = ok("as sealed"), fault("changed after sealing", "find out by whom")
    moment, state, asked = 0.0, sealed, list[str]()
    live = SimpleNamespace(current=SimpleNamespace(revision=7))

    async def examine(*given: Any) -> Findings:
        nonlocal asked
        asked = [check.name for check in given[3]]
        return [(name, state if name == "history" else ok("together")) for name in asked]

    monkeypatch.setattr(latest, "examine", examine)
    monkeypatch.setattr(latest, "monotonic", lambda: moment)
    findings = LatestFindings(Settings(), lambda _shipped: [], live)  # type: ignore[arg-type]
    every = [check.name for check in checks_for()]
    steps = (
        (100, 7, changed, True),
        (120, 7, sealed, True),
        (140, 7, changed, False),
        (419, 7, changed, False),
        (440, 7, sealed, True),
        (460, 8, changed, True),
    )
    for seconds, revision, found_now, is_made in steps:
        moment, state, live.current.revision = float(seconds), found_now, revision
        shown = (await findings.read()).findings
        assert ([name for name, _ in shown], "history" in asked) == (every, is_made), seconds
        assert dict(shown)["history"] == (found_now if is_made else sealed)
        assert "clocks" in asked


async def test_checks_that_take_too_long_are_refused_and_go_on_for_the_next_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    goes_on = threading.Event()

    async def examine(*given: Any) -> Findings:
        goes_on.wait(20)  # it has a thread of its own
        return [(check.name, ok("together")) for check in given[3]]

    monkeypatch.setattr(latest, "examine", examine)
    monkeypatch.setattr(latest, "WITHIN", 0.01)
    findings = LatestFindings(Settings(), lambda _shipped: [])
    with pytest.raises(Unavailable):
        await findings.read()
    goes_on.set()
    monkeypatch.setattr(latest, "WITHIN", 10)
    assert ("clocks", ok("together")) in (await findings.read()).findings


def test_each_finding_that_is_shown_has_codes() -> None:
    """The API translates none of the others: checks of the node show their state alone."""
    local = {check.look for check in checks_for() if check.local}
    modules = {check.look.__module__ for check in checks_for() if isinstance(check.look, FunctionType)}
    uncoded = [
        f"{name}:{call.lineno}"
        for name in sorted(modules)
        for function in ast.parse(inspect.getsource(sys.modules[name])).body
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        and getattr(sys.modules[name], function.name) not in local
        for call in ast.walk(function)
        if isinstance(call, ast.Call) and ast.unparse(call.func) in {"ok", "warning", "fault", "unknown"}
        if any(isinstance(each, ast.Constant | ast.JoinedStr) for each in call.args)
    ]
    assert uncoded == []
