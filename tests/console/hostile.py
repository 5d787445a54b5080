"""Texts that try to run, to break the layout or to fool the reader, and a house whose records hold them."""

import itertools
import json
from functools import cache
from pathlib import Path
from time import sleep
from typing import Any, Final

import httpx

from service.kernel.text import unseen_fault
from tests.console.acts import UNSAFE
from tests.console.house import House
from tests.support.without import is_served

TEXTS: Final[list[str]] = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
"""Fifty texts."""
_REPEATED: Final = 10
FEW: Final = 5
"""How many records of a kind hold them, unless each is to be in every field."""

_BODIES: Final[dict[str, dict[str, Any]]] = {
    "user": {
        "userName": "",
        "nickName": "",
        "email": "",
        "phone": "",
        "avatar": "",
        "password": "four wary herons",
    },
    "role": {"roleName": "", "roleCode": "hostile-{n}", "description": ""},
    "menu": {"menuType": "Menu"}
    | dict.fromkeys(("title", "name", "path", "component", "icon", "redirect", "link", "badge"), ""),
    "resource": {"method": "GET", "path": "/hostile/{n}", "resourceCode": "hostile.{n}"}
    | dict.fromkeys(("resourceName", "description"), ""),
    "service": {"name": "hostile-{n}", "description": ""},
}
"""How a record of each kind is made: a text goes to each empty field."""
_NEEDED: Final = {"userName": "hostile-{n}", "nickName": "Hostile {n}", "roleName": "Hostile {n}"} | {
    "title": "Hostile {n}",
    "resourceName": "Hostile {n}",
}
"""What fields that may not be empty hold where a text is refused."""
_RULE: Final[dict[str, Any]] = {
    "requestableBy": "@login",
    "stages": [{"code": "system:user:list", "approvals": 1}],
    "maxDuration": 3600,
    "pendingTimeout": 86_400,
    "reasonRequired": False,
}
"""How each of the roles is asked for."""
_ASKED: Final = 20
"""How many requests there are: nobody asks more often within an hour, and their texts are joined."""
_REVIEW: Final[dict[str, Any]] = {
    "reviewers": {},
    "deadline": "2090-01-01T00:00:00Z",
    "onSilence": "keep",
    "apply": "at_once",
}
"""How each of the users is reviewed."""


def store(client: httpx.Client, *, everywhere: bool) -> dict[str, list[int]]:
    """Store each text in some field of some record, or in each field that takes it; return the ids, by kind.

    The logs have them as well: as names, devices and browsers of sign-ins that failed. Some users are banned
    for such reasons.
    """
    ids: dict[str, list[int]] = {kind: [] for kind in (*_BODIES, "access-request", "review")}
    for number in range(len(TEXTS) if everywhere else FEW):
        for shift, (kind, form) in enumerate(_BODIES.items()):
            step = 0 if everywhere else FEW
            texts = (TEXTS[(number + step * place) % len(TEXTS)] for place in itertools.count(shift))
            body = {name: value.format(n=number) if value else next(texts) for name, value in form.items()}
            ids[kind].append(_store(client, kind, body, number))
        client.put(f"/api/role/{ids['role'][-1]}/request-rule", json=_RULE).raise_for_status()
        if number < _ASKED and is_served("POST /api/access-request"):
            asked = {
                "roleId": ids["role"][-1],
                "duration": 600,
                "reason": TEXTS[number] + TEXTS[number + _ASKED],
                "ticket": TEXTS[-number],
            }
            ids["access-request"].append(_store(client, "access-request", asked, number))
        user = ids["user"][-1]
        _store(client, f"user/{user}/roles", {"roleId": ids["role"][-1], "reason": TEXTS[number]}, number)
        review = _REVIEW | {"title": TEXTS[-number], "scope": {"userIds": [user]}}
        ids["review"].append(_store(client, "review", review, number))
        _fail_to_sign_in(client, TEXTS[number])
    groups = [text for text in TEXTS if unseen_fault(text) is None]  # others are refused
    mapping = [{"group": group, "roles": ["hostile-0"]} for group in groups]
    body = {"kind": "oidc", "mapping": mapping, "ceiling": ["system:file:list"]}
    client.put("/api/directory/hostile", json=body).raise_for_status()
    for user, text in zip(ids["user"][:5], TEXTS[5:10], strict=True):
        client.post(f"/api/online/{user}/ban", json={"reason": text}).raise_for_status()
    return ids


@cache  # tests of one process share a house
def store_long(house: House) -> dict[str, list[int]]:
    """Store records with the longest codes, and the longest names, which hold markup; return ids, by kind.

    Some users have several roles, and the longest words for their state.
    """
    name = UNSAFE.ljust(64, "N")
    code = "long:" + "part:" * 23 + "read"
    button = house.make("menu", menuType="Button", title=name, authMark=code)
    path = "/long" + "/of-many-segments" * 14
    names = {"resourceName": name, "resourceCode": "long." * 12 + "code"}
    resource = house.make("resource", method="GET", path=path, **names)
    house.send("PUT", f"/api/menu/{button}/resources", {"resourceIds": [resource]})
    names = {"roleName": name, "roleCode": "role-" * 12 + "code", "description": UNSAFE + "D" * 300}
    role = house.make("role", **names, menuIds=[button])
    address = "somebody.of.a.directory@" + "example." * 27 + "an.example"
    names = {"userName": address, "nickName": name, "email": address, "password": "four wary herons"}
    user = house.make("user", **names, roleIds=[role])
    roles = [role, house.make("role", roleName="N" * 64, roleCode="long-of-a-service")]
    house.make("user", userName="long-service", nickName="N" * 64, kind="service", roleIds=roles)
    return {"menu": [button], "resource": [resource], "role": [role], "user": [user]}


def _store(client: httpx.Client, kind: str, body: dict[str, Any], number: int) -> int:
    for _ in range(5):
        answer = _posted(client, f"/api/{kind}", body)
        if answer.status_code == 201:
            record: int = answer.json()["data"]["id"]
            return record
        refused = answer.json()
        for fault in refused.get("errors", [refused]):  # the other fields are stored
            assert "field" in fault, f"{kind} {number}: {answer.text}"
            name = fault["field"].lstrip("/").split("/")[0].split(".")[0]
            body.pop(name, None)
            if name in _NEEDED:
                body[name] = _NEEDED[name].format(n=number)
    raise AssertionError(f"{kind} {number}: {answer.text}")


def _posted(client: httpx.Client, target: str, body: dict[str, Any]) -> httpx.Response:
    """Post a record; repeat the 503 of a busy machine some times."""
    for _ in range(_REPEATED):
        answer = client.post(target, json=body)
        if answer.status_code != 503:
            break
        sleep(1)
    return answer


def _fail_to_sign_in(client: httpx.Client, text: str) -> None:
    sent = {"userName": text[:64], "password": "not the password", "device": text[:32]}
    headers = {"User-Agent": text} if text.isascii() and text.isprintable() else {}
    client.post("/api/auth/login", json=sent, headers=headers)
