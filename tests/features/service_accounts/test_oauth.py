"""Client credentials (RFC 6749 §4.4) and introspection (RFC 7662)."""

import base64
from typing import Any
from urllib.parse import quote, urlencode

from openapi_schema_validator import OAS31Validator

from tests.features.service_accounts.conftest import Account, Workers
from tests.support.members import member
from tests.web.driver import Answer, ask

LIST = "system:role:list"
FORM = ("Content-Type", "application/x-www-form-urlencoded")
GRANT = {"grant_type": "client_credentials"}


def basic(client_id: str, secret: str) -> tuple[str, str]:
    text = f"{quote(client_id)}:{quote(secret)}"
    return "Authorization", "Basic " + base64.b64encode(text.encode()).decode()


async def token_by(
    workers: Workers, form: dict[str, str] | bytes, *headers: tuple[str, str], kind: tuple[str, str] = FORM
) -> Answer:
    body = form if isinstance(form, bytes) else urlencode(form).encode()
    return await ask(workers.first._app, "POST", "/oauth/token", kind, *headers, body=body)


async def issued(workers: Workers, key: str, **more: str) -> dict[str, Any]:
    answer = await token_by(workers, {**GRANT, **more}, basic(key.split("_")[1], key))
    assert answer.status == 200, answer.body
    body: dict[str, Any] = answer.json
    return body


async def introspected(workers: Workers, token: str, **more: str) -> dict[str, Any]:
    body = urlencode({"token": token, **more}).encode()
    answer = await workers.second.ask_raw("POST", "/oauth/introspect", body, FORM)
    assert answer.status == 200, answer.body
    introspection: dict[str, Any] = answer.json
    return introspection


async def test_a_key_is_exchanged_for_a_token_by_both_methods_and_both_names(workers: Workers) -> None:
    account = await workers.account(LIST)
    key = await workers.key(account)
    key_id = key.split("_")[1]
    for answer in (
        await token_by(workers, GRANT, basic(key_id, key)),
        await token_by(workers, GRANT, basic(account.name.upper(), key)),
        await token_by(workers, {**GRANT, "client_id": key_id, "client_secret": key}),
        await token_by(workers, {**GRANT, "client_id": account.name, "client_secret": key}),
    ):
        assert answer.status == 200, answer.body
        assert answer.header("cache-control") == "no-store"
        body = answer.json
        assert set(body) == {"access_token", "token_type", "expires_in", "scope"}
        assert (body["token_type"], body["expires_in"], body["scope"]) == ("Bearer", 900, LIST)
        assert await workers.statuses(body["access_token"]) == [200, 200]
        assert await workers.statuses(body["access_token"], "/api/user/list") == [403, 403]


async def test_a_token_of_a_key_that_is_limited_to_nothing_opens_nothing(workers: Workers) -> None:
    limited = await issued(workers, await workers.key(await workers.account("*"), scopes=[]))
    without_codes = await issued(workers, await workers.key(await workers.account()))
    assert "scope" not in limited
    assert await workers.statuses(limited["access_token"], "/api/user/info") == [403, 403]
    assert await workers.statuses(without_codes["access_token"], "/api/user/info") == [200, 200]


async def test_refusals_are_those_of_the_standard(workers: Workers) -> None:
    account = await workers.account(LIST)
    key, other = await workers.key(account), await workers.key(await workers.account(LIST))
    key_id = key.split("_")[1]
    good = basic(key_id, key)
    json = ("Content-Type", "application/json")
    for answer, status, error in (
        (await token_by(workers, GRANT), 401, "invalid_client"),
        (await token_by(workers, GRANT, basic(key_id, key[:-1])), 401, "invalid_client"),
        (await token_by(workers, GRANT, basic(key_id, other)), 401, "invalid_client"),
        (await token_by(workers, GRANT, basic("nobody", key)), 401, "invalid_client"),
        (await token_by(workers, GRANT, ("Authorization", "Basic /w==")), 400, "invalid_request"),
        (await token_by(workers, GRANT, ("Authorization", f"Bearer {key}")), 401, "invalid_client"),
        (await token_by(workers, {**GRANT, "client_id": key_id, "client_secret": other}), 400, None),
        (await token_by(workers, {**GRANT, "client_secret": key}, good), 400, "invalid_request"),
        (await token_by(workers, {}, good), 400, "invalid_request"),
        (await token_by(workers, b"grant_type=a&grant_type=b", good), 400, "invalid_request"),
        (await token_by(workers, b"grant_type=%ff", good), 400, "invalid_request"),
        (await token_by(workers, b"\xff", good), 400, "invalid_request"),
        (await token_by(workers, GRANT, good, kind=json), 400, "invalid_request"),
        (await token_by(workers, {"grant_type": "password"}, good), 400, "unsupported_grant_type"),
        (await token_by(workers, {**GRANT, "scope": "A:b"}, good), 400, "invalid_scope"),
        (await token_by(workers, {**GRANT, "scope": "other:*"}, good), 400, "invalid_scope"),
    ):
        assert answer.status == status, answer.body
        assert answer.header("content-type") == "application/json"
        assert answer.json["error"] == (error or "invalid_client")
        assert (answer.header("www-authenticate") or "").startswith("Basic " if status == 401 else "")
        assert b"pck_" not in answer.body
        assert key.split("_")[2].encode() not in answer.body


async def test_a_grant_type_is_not_echoed_with_a_key_in_it(workers: Workers) -> None:
    key = await workers.key(await workers.account(LIST))
    answer = await token_by(workers, {"grant_type": key}, basic("1", key))
    assert answer.json["error"] == "unsupported_grant_type"
    assert key.split("_")[2].encode() not in answer.body


async def test_the_scope_of_a_token_narrows_it_and_the_rights_of_the_key_still_bound_it(
    workers: Workers,
) -> None:
    account = await workers.account(LIST, "system:menu:list")
    key = await workers.key(account)
    response = await issued(workers, key, scope="system:role:* system:user:*")
    assert response["scope"] == LIST
    assert await workers.statuses(response["access_token"]) == [200, 200]
    assert await workers.statuses(response["access_token"], "/api/menu/list") == [403, 403]
    await workers.first.data("PUT", f"/api/role/{account.role_id}/permissions", {"menuIds": []})
    assert await workers.statuses(response["access_token"]) == [403, 403]


async def test_a_token_dies_with_its_key_and_with_its_account(workers: Workers) -> None:
    async def with_token() -> tuple[Account, str, str]:
        account = await workers.account(LIST)
        key = await workers.key(account)
        token = (await issued(workers, key))["access_token"]
        assert await workers.statuses(token) == [200, 200]
        return account, key, token

    account, key, token = await with_token()
    await workers.first.data("DELETE", f"/api/user/{account.id}/keys/{key.split('_')[1]}")
    assert [answer.code for answer in await workers.ask(token)] == ["token_invalid"] * 2
    account, _, token = await with_token()
    await workers.second.data("PUT", f"/api/user/{account.id}/status", {"status": "disabled"})
    assert [answer.code for answer in await workers.ask(token)] == ["account_banned"] * 2


async def test_a_token_ends_no_later_than_its_key_and_is_no_device_session(workers: Workers) -> None:
    account = await workers.account(LIST)
    response = await issued(workers, await workers.key(account, seconds=100))
    assert 0 < response["expires_in"] <= 100
    online = await workers.first.data("GET", f"/api/online/list?userName={account.name}")
    assert online["total"] == 0
    path = f"/api/user/{account.id}/keys"
    made = await workers.first.ask("POST", path, {"name": "job"}, token=response["access_token"])
    assert (made.status, made.json["layer"]) == (403, "endpoint"), "it holds no such code"


async def test_a_token_of_a_key_makes_no_keys(workers: Workers) -> None:
    account = await workers.account("*")
    token = (await issued(workers, await workers.key(account)))["access_token"]
    path = f"/api/user/{account.id}/keys"
    refused = await workers.first.ask("POST", path, {"name": "job"}, token=token)
    assert (refused.code, refused.json["layer"]) == ("permission_denied", "assurance")


async def test_introspection_tells_what_a_token_may_do_now(workers: Workers) -> None:
    account = await workers.account(LIST, "system:menu:list")
    key = await workers.key(account, seconds=1000, scopes=["system:*:list"])
    token = (await issued(workers, key, scope=LIST))["access_token"]
    introspection = await introspected(workers, token, token_type_hint="access_token")
    assert introspection["active"] is True
    assert (introspection["scope"], introspection["username"], introspection["client_id"]) == (
        LIST,
        account.name,
        key.split("_")[1],
    )
    assert (introspection["sub"], introspection["token_type"], introspection["iss"]) == (
        str(account.id),
        "Bearer",
        "portcullis",
    )
    assert (await introspected(workers, key))["scope"] == f"system:menu:list {LIST}"
    assert workers.first.token is not None
    session = await introspected(workers, workers.first.token)
    assert (session["username"], session["scope"]) == ("admin", "*")
    assert session["iat"] < session["exp"]
    assert "client_id" not in session

    await workers.first.data("PUT", f"/api/role/{account.role_id}/permissions", {"menuIds": []})
    assert (await introspected(workers, token))["scope"] == ""
    await workers.first.data("DELETE", f"/api/user/{account.id}")
    assert await introspected(workers, token) == await introspected(workers, key) == {"active": False}


async def test_a_bound_account_is_told_the_codes_of_its_own_service_only(workers: Workers) -> None:
    reader = await workers.account("system:online:introspect")
    await workers.first.data("PATCH", f"/api/user/{reader.id}", {"service": "orders"})
    mine = await workers.key(reader)
    theirs = await workers.key(await workers.account(LIST))

    async def introspected(token: str) -> Any:
        body = urlencode({"token": token}).encode()
        return (await workers.second.ask_raw("POST", "/oauth/introspect", body, FORM, token=mine)).json

    assert workers.first.token is not None
    session = await introspected(workers.first.token)
    assert (session["active"], session["username"], session["scope"]) == (True, "admin", "orders:*")
    other = await introspected(theirs)
    assert (other["active"], other["scope"]) == (True, "")


async def test_what_is_not_active_says_nothing_else(workers: Workers) -> None:
    login = {"userName": "admin", "password": "gate, chain and winch", "device": "other"}
    refresh = (await workers.first.data("POST", "/api/auth/login", login))["refreshToken"]
    for text in (refresh, "x", "eyJ.a.b", "pck_1_2_3", "\u00e4"):
        assert await introspected(workers, text) == {"active": False}
    assert await introspected(workers, refresh, token_type_hint="refresh_token") == {"active": False}


async def test_introspection_needs_its_code_and_a_token(workers: Workers) -> None:
    body = urlencode({"token": "x"}).encode()
    reader = await member(workers.first, "introspector", "system:online:introspect")
    other = await member(workers.first, "not-introspector", "system:online:list")
    assert (
        await workers.first.ask_raw("POST", "/oauth/introspect", body, FORM, token=reader.token)
    ).json == {"active": False}
    refused = await workers.first.ask_raw("POST", "/oauth/introspect", body, FORM, token=other.token)
    assert refused.code == "permission_denied"
    faulty = await workers.first.ask_raw("POST", "/oauth/introspect", b"", FORM)
    assert (faulty.status, faulty.json["error"]) == (400, "invalid_request")
    assert await introspected(workers, "x", token_type_hint="id_token") == {"active": False}


async def test_a_client_introspects_by_http_basic(workers: Workers) -> None:
    account = await workers.account("system:online:introspect")
    key, other = await workers.key(account), await workers.key(await workers.account(LIST))
    body = urlencode({"token": other}).encode()

    async def asked(*headers: tuple[str, str]) -> Answer:
        return await ask(workers.first._app, "POST", "/oauth/introspect", FORM, *headers, body=body)

    for client_id in (key.split("_")[1], account.name):
        answer = await asked(basic(client_id, key))
        assert (answer.status, answer.json["scope"]) == (200, LIST), answer.body
    assert (await asked(basic(other.split("_")[1], other))).code == "permission_denied"
    assert workers.first.token is not None
    for wrong in (
        basic(other.split("_")[1], key),
        basic("admin", workers.first.token),
        basic("admin", "gate, chain and winch"),
        basic(key.split("_")[1], key[:-1]),
    ):
        answer = await asked(wrong)
        assert (answer.status, answer.code) == (401, "token_invalid"), answer.body
        assert (answer.header("www-authenticate") or "").startswith("Basic ")
    for none in ((), (("Authorization", "Basic /w"),), (basic("", key),)):
        assert (await asked(*none)).code == "unauthenticated"
    assert (await asked(("Authorization", "Basic /w=="))).code == "token_invalid"
    listed = await ask(workers.first._app, "GET", "/api/role/list", basic(other.split("_")[1], other))
    assert listed.code == "unauthenticated", "only where it is declared"


async def test_the_answers_are_those_of_the_document(workers: Workers) -> None:
    document = (await workers.first.ask("GET", "/docs/openapi.json")).json
    key = await workers.key(await workers.account(LIST), seconds=1000)
    good = basic(key.split("_")[1], key)
    token = await token_by(workers, GRANT, good)
    introspection = "/oauth/introspect"
    states = [
        await workers.second.ask_raw("POST", introspection, form, FORM)
        for form in (b"token=x", urlencode({"token": token.json["access_token"]}).encode(), b"")
    ]
    for path, answer in (
        ("/oauth/token", token),
        ("/oauth/token", await token_by(workers, GRANT)),
        ("/oauth/token", await token_by(workers, {}, good)),
        *((introspection, state) for state in states),
    ):
        operation = document["paths"][path]["post"]
        content = operation["responses"][str(answer.status)]["content"]
        schema = content[answer.header("content-type")]["schema"]
        validator = OAS31Validator({**schema, "components": document["components"]})
        assert list(validator.iter_errors(answer.json)) == [], (path, answer.body)
        name = schema["$ref"].rpartition("/")[2]
        assert set(answer.json) <= set(document["components"]["schemas"][name]["properties"])


async def test_the_document_says_how_clients_authenticate(workers: Workers) -> None:
    document = (await workers.first.ask("GET", "/docs/openapi.json")).json
    token, introspection = (document["paths"][f"/oauth/{name}"]["post"] for name in ("token", "introspect"))
    assert document["components"]["securitySchemes"]["client"]["scheme"] == "basic"
    assert token["security"] == [{"client": []}, {}]
    assert introspection["security"] == [{"bearer": []}, {"client": []}]
    for operation, form in ((token, "TokenForm"), (introspection, "IntrospectionForm")):
        (media,) = operation["requestBody"]["content"].items()
        assert media[0] == FORM[1]
        assert media[1]["schema"] == {"$ref": f"#/components/schemas/{form}"}
