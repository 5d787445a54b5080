"""Entries as events of the Open Cybersecurity Schema Framework (OCSF), version 1.8.0, without profiles.

``docs/reference/audit-export.md`` lists every attribute. ``unmapped`` has the data without an OCSF attribute.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, NamedTuple

import msgspec

from service import __version__
from service.features.export.entry import Entry

VERSION: Final = "1.8.0"

_OTHER: Final = 99
_SUCCESS, _FAILURE = 1, 2
_INFORMATIONAL = 1
_LOW = 2
_MEDIUM = 3
_HIGH = 4
_PRODUCT: Final = {"name": "Portcullis", "vendor_name": "Portcullis", "version": __version__}
_SERVER_ERRORS: Final = 500
_CLIENT_ERRORS: Final = 400


class _Class(NamedTuple):
    category: int
    uid: int
    name: str
    activities: Mapping[int, str]


_AUTHENTICATION: Final = _Class(3, 3002, "Authentication", {1: "Logon", 2: "Logoff"})
_ACCOUNT_CHANGE: Final = _Class(
    3,
    3001,
    "Account Change",
    {2: "Enable", 3: "Password Change", 4: "Password Reset", 5: "Disable", 9: "Lock"},
)
_API_ACTIVITY: Final = _Class(6, 6003, "API Activity", {1: "Create", 2: "Read", 3: "Update", 4: "Delete"})

_EVENTS: Final[Mapping[str, tuple[_Class, int]]] = {
    "login": (_AUTHENTICATION, 1),
    "login_begun": (_AUTHENTICATION, _OTHER),
    "step_up": (_AUTHENTICATION, _OTHER),
    "logout": (_AUTHENTICATION, 2),
    "logout_all": (_AUTHENTICATION, 2),
    "session_end": (_AUTHENTICATION, 2),
    "evict": (_AUTHENTICATION, 2),
    "kick": (_AUTHENTICATION, 2),
    "refresh": (_AUTHENTICATION, _OTHER),
    "reuse": (_AUTHENTICATION, _OTHER),
    "lockout": (_ACCOUNT_CHANGE, 9),
    "password_change": (_ACCOUNT_CHANGE, 3),
    "password_reset": (_ACCOUNT_CHANGE, 4),
    "factor_add": (_ACCOUNT_CHANGE, 10),
    "factor_remove": (_ACCOUNT_CHANGE, 11),
    "factor_reset": (_ACCOUNT_CHANGE, 11),
    "ban": (_ACCOUNT_CHANGE, 5),
    "unban": (_ACCOUNT_CHANGE, 2),
}
_SEVERITIES: Final = {"reuse": _HIGH, "lockout": _MEDIUM}
_KINDS: Final = {"INSERT": 1, "QUERY": 2, "EXPORT": 2, "REFUSED_READ": 2, "UPDATE": 3, "DELETE": 4}
_READ: Final = 2
_METHODS: Final = {"GET": 2, "HEAD": 2, "POST": 1, "PUT": 3, "PATCH": 3, "DELETE": 4}

_encode: Final = msgspec.json.Encoder().encode


def ocsf_event(entry: Entry) -> bytes:
    """Return ``entry`` as one line of JSON, without a line feed."""
    made = {"operations": _operation, "logins": _login, "decisions": _decision}[entry.log](entry)
    return _encode(made)


def _login(entry: Entry) -> dict[str, Any]:
    """Return an Authentication (3002) or Account Change (3001) event."""
    members = _Members(entry.entry)
    event = members.take("event")
    kind, activity = _EVENTS.get(event, (_AUTHENTICATION, _OTHER))
    failed = members.take("outcome") == "failure"
    severity = _SEVERITIES.get(event, _LOW if failed else _INFORMATIONAL)
    user = _user(members.take("userId"), members.take("userName"))
    made = {
        **_common(entry, kind, activity, event, severity, failed=failed),
        "user": user,
        **_given(status_detail=members.take("reason")),
        **_endpoint(members.take("loginIp")),
        **_agent(members.take("userAgent"), entry),
    }
    if kind is _AUTHENTICATION:
        made["service"] = {"name": "Portcullis"}
        made["is_remote"] = True
    return _finished(made, entry, members)


def _operation(entry: Entry) -> dict[str, Any]:
    """Return an API Activity (6003) event."""
    members = _Members(entry.entry)
    kind, status = members.take("kind"), members.take("status")
    activity = _READ if entry.entry.get("dryRun") else _KINDS.get(kind, _OTHER)
    failed = status >= _CLIENT_ERRORS
    error = members.take("error")
    severity = _MEDIUM if status >= _SERVER_ERRORS else _LOW if failed else _INFORMATIONAL
    method = members.take("method")
    path = members.take("url")
    query = members.take("query")
    actor: dict[str, Any] = {"user": _user(members.take("userId"), members.take("userName"))}
    decision = members.take("decision")
    if decision is not None:
        actor["authorizations"] = [
            _authorization(decision, members.take("decisionId"), members.take("policyRevision"))
        ]
    request = {"uid": entry.entry.get("requestId") or entry.id, **_given(data=members.object("params"))}
    response = {"code": status, **_given(error=error, data=members.object("response"))}
    made = {
        **_common(entry, _API_ACTIVITY, activity, kind, severity, failed=failed),
        **_given(count=members.take("repetitions")),
        "actor": actor,
        "api": {
            "operation": members.take("action"),
            "group": {"name": members.take("module")},
            "request": request,
            "response": response,
            "service": {"name": "Portcullis"},
        },
        "status_code": str(status),
        **_given(status_detail=error),
        "duration": round(members.take("elapsedMs")),
        "src_endpoint": _endpoint(members.take("clientIp")).get("src_endpoint", {"name": "unknown"}),
        "http_request": {
            "http_method": method,
            "url": {"path": path, **_given(query_string=query)},
            **_given(uid=entry.entry.get("requestId"), user_agent=members.take("userAgent")),
        },
        "http_response": {"code": status},
    }
    if targets := members.take("targets"):
        made["resources"] = [{"type": target.partition(":")[0], "name": target} for target in targets]
    return _finished(made, entry, members)


def _decision(entry: Entry) -> dict[str, Any]:
    """Return an API Activity (6003) event of the decided request, or of another service's question."""
    members = _Members(entry.entry)
    event, denied = members.take("event"), members.take("outcome") == "deny"
    method = members.take("method")
    route = members.take("route")
    path = members.take("path")
    activity = _READ if entry.entry.get("dry_run") else _METHODS.get(method, _OTHER)
    made = {
        **_common(
            entry,
            _API_ACTIVITY,
            activity if event == "decision" else _OTHER,
            event,
            _LOW if denied else _INFORMATIONAL,
            failed=denied,
        ),
        "actor": {
            "user": _user(members.take("user_id"), None),
            "authorizations": [
                _authorization(
                    "deny" if denied else "allow", members.take("decision") or None, members.take("revision")
                )
            ],
        },
        "api": {
            "operation": f"{method} {route}" if event == "decision" else "evaluation",
            "request": {"uid": entry.entry["request_id"]},
            "service": {"name": "Portcullis"},
        },
        "src_endpoint": {"name": "unknown"},
        **_given(status_detail=members.take("reason")),
    }
    if method is not None:
        made["http_request"] = {
            "http_method": method,
            "uid": entry.entry["request_id"],
            "url": {"path": path or route},
        }
    return _finished(made, entry, members)


class _Members:
    """The members of an entry that are not yet taken."""

    def __init__(self, members: Mapping[str, Any]) -> None:
        self.left = dict(members)

    def take(self, name: str) -> Any:
        """Remove and return a member; None if it is missing."""
        return self.left.pop(name, None)

    def object(self, name: str) -> Any:
        """Remove and return a member that is a JSON object, or its text; other members remain."""
        value = self.left.get(name)
        if isinstance(value, msgspec.Raw):
            value = msgspec.json.decode(value)
        return self.left.pop(name) and value if isinstance(value, dict) else None


def _common(
    entry: Entry, kind: _Class, activity: int, name: str, severity: int, *, failed: bool
) -> dict[str, Any]:
    """Return the attributes of all classes; ``name`` names an activity without a number in the class."""
    request_id = entry.entry.get("requestId") or entry.entry.get("request_id")
    time = int(datetime.fromisoformat(entry.time).timestamp() * 1000)
    sequence = None if entry.chain is None else entry.chain["number"]
    activity_name = kind.activities.get(activity, name)
    return {
        "category_uid": kind.category,
        "class_uid": kind.uid,
        "class_name": kind.name,
        "activity_id": activity,
        "activity_name": activity_name,
        "type_uid": 100 * kind.uid + activity,
        "type_name": f"{kind.name}: {activity_name}",
        "severity_id": severity,
        "status_id": _FAILURE if failed else _SUCCESS,
        "time": time,
        "metadata": {
            "version": VERSION,
            "product": _PRODUCT,
            "uid": entry.id,
            "log_name": entry.log,
            "event_code": name,
            **_given(correlation_uid=request_id, sequence=sequence),
        },
    }


def _finished(made: dict[str, Any], entry: Entry, members: _Members) -> dict[str, Any]:
    members.left.pop("requestId", None)
    members.left.pop("request_id", None)
    members.left.pop("time", None)
    left = {**members.left, **_given(chain=entry.chain)}
    return {**made, "unmapped": left} if left else made


def _user(user_id: int | None, name: str | None) -> dict[str, str]:
    """Return the user; an unknown user is named ``unknown``."""
    given = _given(uid=None if user_id is None else str(user_id), name=name)
    return given or {"name": "unknown"}


def _authorization(decision: str, decision_id: str | None, revision: int | None) -> dict[str, Any]:
    version = None if revision is None else str(revision)
    return {
        "decision": decision,
        "policy": {"name": "Portcullis", **_given(uid=decision_id, version=version)},
    }


def _endpoint(address: str | None) -> dict[str, Any]:
    return {} if address is None else {"src_endpoint": {"ip": address}}


def _agent(user_agent: str | None, entry: Entry) -> dict[str, Any]:
    uid = entry.entry.get("requestId")
    return {} if user_agent is None else {"http_request": {"user_agent": user_agent, **_given(uid=uid)}}


def _given(**members: Any) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}
