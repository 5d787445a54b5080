"""Entries of the logs as the sentences that the console makes of them, run by Node without a browser."""

import ast
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any, get_args

import pytest

from service.app import check_routes
from service.authz.publishing.shipped import read_shipped
from service.records.logs.events import SessionEvent
from tests.support.left_out import NO_NODE

ROOT = Path(__file__).parents[2]
CONSOLE = ROOT / "service" / "console"
OPERATIONS = check_routes(read_shipped()).operations

_RUN = """
import {{ readFileSync }} from "node:fs";
const {{ plain, sentence, sessionSentence }} = await import({module!r});
const {{ ACTS, EVENTS }} = await import({strings!r});
const {{ entries, sessions }} = JSON.parse(readFileSync(0, "utf8"));
console.log(JSON.stringify({{
  entries: entries.map((entry) => sentence(entry)),
  texts: entries.map((entry) => plain(sentence(entry))),
  sessions: sessions.map((entry) => plain(sessionSentence(entry))),
  acts: ACTS,
  events: Object.keys(EVENTS),
}}));
"""


def spoken(*entries: dict[str, Any], sessions: tuple[dict[str, Any], ...] = ()) -> Any:
    """Return what the console makes of entries of the two logs: sentences in parts, and as text."""
    if shutil.which("node") is None:
        pytest.skip(NO_NODE)
    program = _RUN.format(
        module=str(CONSOLE / "parts" / "sentence.js"), strings=str(CONSOLE / "strings" / "sentences.js")
    )
    ran = subprocess.run(
        ["node", "--input-type=module", "--no-warnings", "-e", program],
        input=json.dumps({"entries": entries, "sessions": sessions}),
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
    return usual | members


def change(target: str, field: str, before: Any = None, after: Any = None) -> dict[str, Any]:
    """Return a change as the log keeps it."""
    counts = (
        {"removed": len(before or []), "added": len(after or [])}
        if isinstance(before, list) or isinstance(after, list)
        else {}
    )
    return {"target": target, "field": field, "before": before, "after": after, **counts}


SENTENCES: list[tuple[dict[str, Any], str]] = [
    (entry("user delete", kind="DELETE", targets=["user:lee"]), "admin deleted user lee"),
    (
        entry("user update", targets=["user:lee"], changes=[change("user:lee", "roles", [], ["auditor"])]),
        "admin gave role auditor to lee",
    ),
    (
        entry(
            "user update",
            targets=["user:lee"],
            changes=[
                change("user:lee", "email", None, "lee@example.org"),
                change("user:lee", "nickName", "Lee", "Li"),
                change("user:lee", "roles", ["clerk"], ["auditor", "editor"]),
            ],
        ),
        (
            "admin gave roles auditor and editor to lee, took role clerk from lee "
            "and changed the email and name of user lee"
        ),
    ),
    (
        entry("user update", targets=["user:lee"]),  # the changes are not known to everyone
        "admin edited user lee",
    ),
    (
        entry("user set the status", changes=[change("user:lee", "status", "enabled", "disabled")]),
        "admin disabled user lee",
    ),
    (
        entry(
            "user change a role of many",
            changes=[change(f"user:{name}", "roles", ["clerk"], []) for name in ("ann", "bob", "lee", "max")],
        ),
        "admin took role clerk from ann, bob and 2 more",
    ),
    (
        entry(
            "user change a role of many",
            changeCount=90,
            changes=[change(f"user:{name}", "roles", [], ["clerk"]) for name in ("ann", "bob")],
        ),
        "admin gave role clerk to ann, bob and others",
    ),
    (entry("job run", url="/api/jobs/file-sweep/run"), "admin ran the job file-sweep"),
    (
        entry("job run", method="CLI", url="portcullis jobs run file-sweep"),
        "admin ran the job file-sweep",
    ),
    (
        entry(
            "user create",
            kind="INSERT",
            targets=["user:lee"],
            changes=[change("user:lee", "roles", None, ["clerk"])],
        ),
        "admin created user lee with role clerk",
    ),
    (
        entry(
            "role set the permissions",
            changes=[change("role:clerk", "permissions", ["a:b"], ["a:c", "a:d", "a:e", "a:f"])],
        ),
        "admin gave permissions a:c, a:d and 2 more to role clerk and took permission a:b from role clerk",
    ),
    (
        entry("resource bind", changes=[change("resource:GET /api/x", "permissions", [], ["x:read"])]),
        "admin bound Button x:read to resource GET /api/x",
    ),
    (
        entry("opening create", kind="INSERT", targets=["opening:orders GET /orders"]),
        "admin gave public access to orders GET /orders",
    ),
    (
        entry(
            "user make an API key",
            kind="INSERT",
            targets=["user:robot", "key:4"],
            changes=[change("key:4", "name", None, "ci")],
        ),
        "admin created an API key for user robot",
    ),
    (
        entry("user import", kind="IMPORT", targets=["user:ann", "user:lee"]),
        "admin imported users ann and lee",
    ),
    (entry("user import", kind="IMPORT", status=422), "admin tried to import users"),
    (
        entry(
            "policy restore",
            url="/api/policy/revisions/7/restore",
            targets=["button:a:b"],
            changes=[change("button:a:b", "enabled", False, True)],
        ),
        "admin restored revision 7 of the policy",
    ),
    (entry("job run", url="/api/jobs/{name}/run", status=404), "admin tried to run the job …"),
    (
        entry("user delete", kind="DELETE", status=403, decision="deny", targets=["user:bob"]),
        "admin was not allowed to delete user bob",
    ),
    (
        entry("role delete", kind="DELETE", status=409, targets=["role:clerk"]),
        "admin tried to delete role clerk",
    ),
    (
        entry("role delete", kind="DELETE", url="/api/role/4711", status=403, decision="deny"),
        "admin was not allowed to delete a role (id 4711)",
    ),
    (
        entry("role delete", kind="DELETE", dryRun=True, targets=["role:clerk"]),
        "admin previewed: delete role clerk",
    ),
    (
        entry("role delete", kind="DELETE", dryRun=True, status=403, decision="deny", targets=["role:clerk"]),
        "admin was not allowed to preview: delete role clerk",
    ),
    (
        entry(
            "user getUser", kind="REFUSED_READ", method="GET", url="/api/user/7", status=403, decision="deny"
        ),
        "admin was not allowed to read GET /api/user/7",
    ),
    (entry("auth login", kind="LOGIN", userName=None), "Somebody signed in"),
    (
        entry("auth accept an invitation", userName=None, targets=["user:lee"]),
        "lee accepted an invitation",
    ),
    (
        entry("auth accept an invitation", userName=None, status=400, targets=["user:lee"]),
        "Somebody tried to accept an invitation",
    ),
    (
        entry("role create (answered again)", kind="QUERY", targets=["role:clerk"]),
        "admin created role clerk (repeated response)",
    ),
    (
        entry("orders enter an order", kind="INSERT", targets=["order:7"]),
        "admin: orders, enter an order, order:7",
    ),
    (entry("constructor toString", kind="INSERT"), "admin: constructor, toString"),
]


def test_entries_read_as_sentences_of_who_did_what_to_whom() -> None:
    assert spoken(*(given for given, _ in SENTENCES))["texts"] == [text for _, text in SENTENCES]


def test_a_sentence_tells_who_acted_and_which_records_so_that_they_can_be_links() -> None:
    shown = spoken(SENTENCES[0][0])["entries"][0]
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
        for operation in OPERATIONS
        if (logged := operation.metadata.logged) is not None
    }
    commands = by_commands()
    assert len(commands) >= 6
    acts = spoken()["acts"]
    assert set(acts) == logged | commands
    assert not re.search(r"\{(?!about|part)", str([text for texts in acts.values() for text in texts]))


def test_each_event_of_a_session_has_a_sentence() -> None:
    assert set(spoken()["events"]) == set(get_args(SessionEvent))
