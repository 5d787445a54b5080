"""Each request as the documentation shows it, sent without a change: what "Try it out" does at a click."""

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

import pytest

from service.features.api_document.schemas import NOBODYS
from tests.support.inside import Inside
from tests.support.inside_fixtures import service
from tests.support.without import is_off
from tests.users.people import execute

__all__ = ["service"]


FORM = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\nhello\r\n--x--\r\n'
LAST = ("logOut", "logOutEverywhere", "logOutAtProvider")
"""They end the session of whoever tries them, which is what they are for."""
TABLES = ("user", "user_role", "user_ban", "api_key", "role", "role_menu", "menu", "resource", "file")
UNTOUCHED = "SELECT COALESCE(json_agg(one), '[]') FROM (SELECT * FROM sys.{} ORDER BY 1, 2) AS one"
NOTHING_TO_UNDO = {"unbanUser"}
"""They succeed where there is nothing to undo."""
OF_CLIENTS = {
    "findScimResources",
    "findScimUsers",
    "findScimGroups",
    "listScimUsers",
    "createScimUser",
    "getScimUser",
    "updateScimUser",
    "patchScimUser",
    "deleteScimUser",
    "listScimGroups",
    "createScimGroup",
    "getScimGroup",
    "updateScimGroup",
    "patchScimGroup",
    "deleteScimGroup",
}
"""For the service account of a directory, which the caller is not."""
BY_TAG = {"deletePersonalData"}
"""For callers that send the tag of a preview, whoever the user is."""
LACKING = {
    **dict.fromkeys(BY_TAG, 400),
    # The current password is another one.
    **dict.fromkeys(("changeOwnPassword", "updateOwnProfile", "acceptOwnEmail"), 422),
    **dict.fromkeys(("checkForCaddy", "checkForEnvoy", "checkForNginx", "checkForTraefik"), 403),
    "revokeLeakedKey": 422,  # what is shown is no whole key
    "runChatTest": 404,  # no destination is set
    "setAgentOwner": 409,  # the account is a person's
    "createOwnDelegation": 422,  # there is no agent
    **dict.fromkeys(("setAgentEnabled", "deleteAgent", "endDelegation", "endOwnDelegation"), 404),
    "decideOwnApproval": 404,
    **dict.fromkeys(("listWebhookDeadLetters", "runWebhookTest", "runWebhookReplay"), 404),
    "downloadFile": 404,
    "downloadPublicFile": 404,
    **dict.fromkeys(("createOwnApp", "createOwnPasskey", "createOwnRecoveryCodes"), 409),  # no factor_key
    **dict.fromkeys(("getPasskeyLoginOptions", "getPasskeyOptions"), 409),  # no public_url
    "getErasurePlan": 409,  # nobody erases the own account
    "listUserFactors": 409,  # one's own are in the profile
    **dict.fromkeys(
        (
            "acceptInvitation",
            "confirmPasswordReset",
            "getPasswordResetOptions",
            "confirmAddress",
            "restoreAddress",
            "endSessionsByLink",
        ),
        403,
    ),
    "requestOwnEmailVerification": 409,  # no mail
    "verifyUserEmail": 409,  # one's own is confirmed by a link
    "requestPasswordReset": 409,  # no mail
    "startUserPasswordReset": 409,  # one's own is in the profile
    "inviteUser": 409,  # the caller has a password
    "getSecondFactorOptions": 401,
    "deleteOwnOrigin": 404,
    "deleteUserOrigin": 409,  # nobody unlinks themselves there
    "logInWithPasskey": 401,
    "logInWithSecondFactor": 401,
    "stepUp": 401,
    "endOwnSession": 404,
    "getRequestRule": 404,  # nobody can ask for the role
    "createAccessRequest": 422,  # the same
    "getAccessRequest": 404,
    # No provider is set up.
    **dict.fromkeys(("startSignIn", "endSignIn", "startProviderLink", "stepUpAtProvider"), 404),
    **dict.fromkeys(("logOutByProvider", "getDirectory", "deleteDirectory"), 404),
    **dict.fromkeys(OF_CLIENTS, 409),
    "issueSignInTokens": 401,
    "assignAccountToProvider": 404,  # there is no provider
    "assignAccountToDirectory": 404,  # there is no directory
    "followPolicy": 403,  # no person may
    "setDirectory": 422,  # it names a role that there is not
    "getPolicyChanges": 422,  # nothing was signed off
    "getAuthzenConfiguration": 404,  # nothing says how clients reach the service
    "issueClientToken": 401,
    "logIn": 401,
    "refreshTokens": 401,
}
"""What is answered where a request needs what is not there: a secret, a session, a file, a setting."""


class Shown(NamedTuple):
    """A request as the document shows it; ``about_id`` says that its path has an id."""

    name: str
    method: str
    target: str
    bodies: dict[str, Any]
    documented: set[int]
    about_id: bool


def shown(document: dict[str, Any]) -> Iterator[Shown]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            given = {
                parameter["name"]: parameter
                for parameter in operation.get("parameters", ())
                if parameter["in"] != "header"
            }
            places = re.findall(r"{(.*?)}", path)
            query = {
                name: ",".join(map(str, example)) if isinstance(example, list) else example
                for name, parameter in given.items()
                if parameter["in"] == "query" and (example := parameter.get("example")) is not None
            }
            ids = {name: quote(str(given[name]["example"])) for name in places}
            body = operation.get("requestBody", {"content": {}})["content"]
            yield Shown(
                operation["operationId"],
                method.upper(),
                path.format(**ids) + (f"?{urlencode(query)}" if query else ""),
                # A workbook is no text, and so has no example.
                {
                    kind: content.get("example")
                    for kind, content in body.items()
                    if not kind.endswith("spreadsheetml.sheet")
                },
                {int(status) for status in operation["responses"]},
                str(NOBODYS) in ids.values(),
            )


def stored(service: Inside) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of all records."""
    return {table: execute(service, UNTOUCHED.format(f'"{table}"'))[0][0] for table in TABLES}


@pytest.mark.extended
async def test_each_shown_request_is_answered_as_documented_and_harms_nobody(service: Inside) -> None:
    document = (await service.ask("GET", "/docs/openapi.json")).json
    before = stored(service)
    for request in sorted(shown(document), key=lambda request: request.name in LAST):
        if request.name in LAST:
            service.token = await service.log_in()
        answers = [await sent(service, request, kind) for kind in request.bodies] or [
            await sent(service, request)
        ]
        assert set(answers) <= request.documented, request
        if request.about_id and request.name not in NOTHING_TO_UNDO | OF_CLIENTS | BY_TAG:
            assert set(answers) == {404}, request
        else:
            assert set(answers) <= {200, 201, 204} or set(answers) == {LACKING.get(request.name)}, request
    after = stored(service)
    for table, rows in before.items():
        lost = [row for row in rows if row not in after[table]]
        assert lost == [], table
    made = {
        row["user_name"]: (row["status"], row["password_hash"] is not None)
        for row in after["user"]
        if row not in before["user"]
    }
    assert made == {
        "heron": ("disabled", True),  # with a password that everybody can read
        **({} if is_off("tables") else {"egret": ("enabled", False)}),  # invited: nobody can sign in yet
    }


async def sent(service: Inside, request: Shown, kind: str | None = None) -> int:
    """Send a request; return its status."""
    if kind is None:
        answer = await service.ask(request.method, request.target)
    elif kind == "multipart/form-data":
        header = ("Content-Type", "multipart/form-data; boundary=x")
        answer = await service.ask_raw(request.method, request.target, FORM, header)
    else:
        example = request.bodies[kind]
        body = example if isinstance(example, str) else _text_of(kind, example)
        answer = await service.ask_raw(request.method, request.target, body.encode(), ("Content-Type", kind))
    return answer.status


def _text_of(kind: str, example: dict[str, Any]) -> str:
    return urlencode(example) if kind == "application/x-www-form-urlencoded" else json.dumps(example)
