"""Entries of the logs as the sentences that the console makes of them, run by Node without a browser."""

import ast
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml

from service.app import check_routes
from service.authz.publishing.shipped import read_shipped
from service.features.console.console import TEXTS
from service.features.console.texts import bundles, languages
from service.records.logs.events import SessionEvent
from tests.support.left_out import NO_NODE

ROOT = Path(__file__).parents[2]
CONSOLE = ROOT / "service" / "console"

_RUN = """
import {{ readFileSync }} from "node:fs";
const {{ bundles, entries, sessions }} = JSON.parse(readFileSync(0, "utf8"));
globalThis.document = {{ documentElement: {{ dataset: {{ languages: bundles.languages }} }} }};
Object.defineProperty(globalThis, "navigator", {{ value: {{ languages: [{locale!r}] }} }});
globalThis.fetch = async (url) => new Response(bundles[url.pathname.split("/").at(-1)]);
const {{ plain, sentence, sessionSentence }} = await import({module!r});
const {{ ACTS, EVENTS }} = await import({strings!r});
console.log(JSON.stringify({{
  entries: entries.map((entry) => sentence(entry)),
  texts: entries.map((entry) => plain(sentence(entry))),
  sessions: sessions.map((entry) => plain(sessionSentence(entry))),
  acts: ACTS,
  events: Object.keys(EVENTS),
}}));
"""


def spoken(*entries: dict[str, Any], sessions: tuple[dict[str, Any], ...] = (), locale: str = "en-GB") -> Any:
    """Return what the console makes of entries of the two logs: sentences in parts, and as text."""
    if shutil.which("node") is None:
        pytest.skip(NO_NODE)
    known = {name: data.decode() for name, data in bundles(CONSOLE / TEXTS).items()}
    known["languages"] = json.dumps(languages(CONSOLE / TEXTS))
    program = _RUN.format(
        module=str(CONSOLE / "parts" / "sentence.js"),
        strings=str(CONSOLE / "strings" / "sentences.js"),
        locale=locale,
    )
    ran = subprocess.run(
        ["node", "--input-type=module", "--no-warnings", "-e", program],
        input=json.dumps({"bundles": known, "entries": entries, "sessions": sessions}),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return json.loads(ran.stdout)


def entry(operation: str, **members: Any) -> dict[str, Any]:
    """Return an entry of an operation, such as `user update`, that admin has called with success."""
    module, action = operation.split(" ", 1)
    usual = {
        "userName": "admin", "module": module, "action": action, "kind": "UPDATE", "method": "POST",
        "url": "/api", "status": 200, "decision": "allow", "dryRun": False, "targets": None,
        "changes": None, "changeCount": None,
    }  # fmt: skip
    if "changes" in members:
        members["changes"] = [change(*values) for values in members["changes"]]
    return usual | members


def change(target: str, field: str, before: Any, after: Any) -> dict[str, Any]:
    """Return a change as the log keeps it."""
    values = {"target": target, "field": field, "before": before, "after": after}
    if isinstance(before, list) or isinstance(after, list):
        values |= {"removed": len(before or []), "added": len(after or [])}
    return values


def test_entries_read_as_sentences_of_who_did_what_to_whom() -> None:
    cases = yaml.safe_load(Path(__file__).with_name("sentences.yaml").read_text(encoding="utf-8"))
    expected = [case.pop("says") for case in cases]
    assert spoken(*(entry(**case) for case in cases))["texts"] == expected


def test_a_sentence_tells_who_acted_and_which_records_so_that_they_can_be_links() -> None:
    shown = spoken(entry("user delete", kind="DELETE", targets=["user:lee"]))["entries"][0]
    assert shown == [
        {"text": "admin", "actor": True}, " ", "deleted ", "user ", {"text": "lee", "target": "user:lee"},
    ]  # fmt: skip


def test_what_happened_to_sessions_reads_as_sentences() -> None:
    event = {"userName": "lee", "device": "web", "outcome": "success", "reason": None}
    failure = event | {"outcome": "failure", "reason": "login_failed"}
    shown = spoken(
        sessions=(
            event | {"event": "login"},
            failure | {"event": "login", "device": None, "userName": None},
            event | {"event": "evict", "reason": "max_devices"},
            event | {"event": "badge_lost", "device": None, "reason": "of_another_version"},
        )
    )["sessions"]
    assert shown == [
        "lee signed in on web",
        "Somebody could not sign in: wrong user name or password",
        "lee was signed out by a newer sign-in on web: too many devices",
        "lee badge lost: of_another_version",
    ]


WRITTEN_BY = ("OperationEvent", "operator_event", "enter_changes")


def by_commands() -> set[str]:
    """Return module and action of the entries that commands write, as their code names them."""
    acts = set()
    for script in (ROOT / "service").rglob("*.py"):
        text = script.read_text(encoding="utf-8")
        if not any(f"{name}(" in text for name in WRITTEN_BY):
            continue
        for call in ast.walk(ast.parse(text)):
            if isinstance(call, ast.Call) and getattr(call.func, "id", "") in WRITTEN_BY:
                named = {keyword.arg: keyword.value for keyword in call.keywords}
                module, action = named.get("module"), named.get("action")  # not where facts are handed on
                if isinstance(module, ast.Constant) and isinstance(action, ast.Constant):
                    acts.add(f"{module.value!s} {action.value!s}")
    return acts


def test_each_operation_that_is_logged_has_a_sentence_and_no_other_has() -> None:
    logged = {
        f"{logged.module} {logged.action}"
        for operation in check_routes(read_shipped()).operations
        if (logged := operation.metadata.logged) is not None
    }
    commands = by_commands()
    assert len(commands) >= 6
    acts = spoken()["acts"]
    assert set(acts) == logged | commands
    assert not re.search(r"\{(?!about|part)", str([text for texts in acts.values() for text in texts]))


def test_each_event_of_a_session_has_a_sentence() -> None:
    assert set(spoken()["events"]) == set(get_args(SessionEvent))
