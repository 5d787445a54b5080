# ruff: noqa: RUF001 - letters that look like others are what is tested
"""Every filter of the API finds a text by itself, in whatever script and case, and up to its whole length."""

import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final
from urllib.parse import quote

import pytest

from service.kernel.text import name_fault, name_key, text_fault
from service.kernel.value_rules import EMAIL, SHORT_LINE
from tests.contract.document import current
from tests.features.scim.scim_client import GROUP, USER, ScimClient, scim_client
from tests.files.forms import PDF, upload
from tests.support.cases import with_each
from tests.support.inside import Inside
from tests.support.members import query

TEXTS: Final = (
    *("ΟΜΑΔΑΣ", "ομάδας", "Οδυσσεύς", "ΐδια", "İzmir", "Işık", "ısı", "STRASSE", "Straße", "GROẞ"),
    *(
        "ﬁnance",
        "ﬄower",
        "ŉoun",
        "Ǆungla",
        "ǆ",
        "ʼn",
        "Müller",
        "Mu\u0308ller",
        "A\u0323\u0307bc",
        "Ångström",
    ),
    *("Ｈｅｒｏｎ", "①②③", "Ⅳ", "㎏", "ｶﾞｷﾞ", "ガギ", "東京", "서울", "\u1109\u1165\u110b\u116e\u11af", "Բարև"),
    *("ԵՒ", "Привет", "ЙОД", "Ѐ", "שָׁלוֹם", "مرحبا", "می\u200cخواهم", "हिन्दी", "ไทย", "ꭰꮃꭹ"),
    *("Ꭰꮃꭹ", "𐐀𐐁", "ªº", "ſtraſe", "Ωmega", "K elvin", "50%_off\\", "naïve", "❤\ufe0f", "Ⓐⓑ"),
)
"""Of Greek, Turkish, German, ligatures, marks in other orders, widths, scripts without case, joiners."""

EACH: Final = pytest.mark.parametrize(
    "texts",
    [pytest.param(TEXTS[::8], id="some"), pytest.param(TEXTS, id="all", marks=pytest.mark.extended)],
)

Find = Callable[[str], Awaitable[Any]]


def spellings(text: str) -> set[str]:
    """Return ``text``, and in capitals where that is the same name."""
    return {each for each in (text, text.upper()) if name_key(each) == name_key(text)}


async def not_found(find: Find, text: str) -> list[str]:
    """Return the spellings of ``text`` by which ``find`` does not find its record."""
    return [each for each in sorted(spellings(text)) if not await find(each)]


def listed(house: Inside, path: str, name: str, made: int) -> Find:
    async def find(text: str) -> bool:
        page = await house.data("GET", f"{path}?size=200&{name}={quote(text, safe='')}")
        return made in [item["id"] for item in page["items"]]

    return find


def in_scim(client: ScimClient, path: str, attribute: str, made: str) -> Find:
    async def find(text: str) -> bool:
        asked = quote(f"{attribute} eq {json.dumps(text)}", safe="")
        page = await client.data("GET", f"{path}?filter={asked}")
        return made in [item["id"] for item in page["Resources"]]

    return find


def user_names(texts: Sequence[str]) -> list[str]:
    """Return each text that a user may be named, and a plain name in place of others and repetitions."""
    seen: set[str] = set()
    names = []
    for place, text in enumerate(texts):
        may = name_fault(text) is None and name_key(text) not in seen
        seen.add(name_key(text))
        names.append(text if may else f"plain-{place}")
    return names


@EACH
async def test_a_user_is_found_by_each_text_of_it(house: Inside, texts: Sequence[str]) -> None:
    for user_name, text in zip(user_names(texts), texts, strict=True):
        email = next(
            (each for each in (f"{text}@b.example", f"a@{text}.example") if EMAIL(each) is None), None
        )
        body = {"userName": user_name, "nickName": text, "email": email, "kind": "service"}
        made = (await house.data("POST", "/api/user", body))["id"]
        fields = {"userName": user_name, "nickName": text} | ({"email": email} if email else {})
        for name, value in fields.items():
            assert await not_found(listed(house, "/api/user/list", name, made), value) == []
        assert await listed(house, "/api/user/list", "keyword", made)(text)


@EACH
async def test_a_role_a_menu_and_a_resource_are_found_by_their_names(
    house: Inside, texts: Sequence[str]
) -> None:
    for place, text in enumerate(texts):
        role = (await house.data("POST", "/api/role", {"roleName": text, "roleCode": "r"}))["id"]
        menu = (await house.data("POST", "/api/menu", {"menuType": "Menu", "title": text}))["id"]
        route = {"resourceName": text, "resourceCode": f"r{place}", "method": "GET", "path": f"/api/x{place}"}
        resource = (await house.data("POST", "/api/resource", {**route, "enabled": False}))["id"]
        for path, name, made in (
            ("/api/role/list", "roleName", role),
            ("/api/role/list", "keyword", role),
            ("/api/menu/list", "title", menu),
            ("/api/resource/list", "resourceName", resource),
            ("/api/resource/list", "keyword", resource),
        ):
            assert await not_found(listed(house, path, name, made), text) == [], path
        await house.data("DELETE", f"/api/role/{role}")


@pytest.mark.feature("scim")
@EACH
async def test_a_directory_finds_what_it_has_made_and_makes_no_second(
    house: Inside, texts: Sequence[str]
) -> None:
    client = await scim_client(house)
    for user_name, text in zip(user_names(texts), texts, strict=True):
        emails = [{"value": "a@b.example", "type": text}]
        names = {"displayName": text, "name": {"formatted": text}, "externalId": text}
        user = await client.user(user_name, emails=emails, **names)
        group = await client.group(text)
        for path, attribute, made, value in (
            ("/Users", "userName", user, user_name),
            ("/Users", "displayName", user, text),
            ("/Users", "name.formatted", user, text),
            ("/Users", "emails.type", user, text),
            ("/Groups", "displayName", group, text),
        ):
            assert await not_found(in_scim(client, path, attribute, made), value) == [], attribute
        assert await in_scim(client, "/Users", "externalId", user)(text)
        again = {"schemas": [GROUP], "displayName": max(spellings(text))}
        assert await client.refused("POST", "/Groups", again) == (409, "uniqueness")
        again = {"schemas": [USER], "userName": max(spellings(user_name))}
        assert await client.refused("POST", "/Users", again) == (409, "uniqueness")
        await client.data("DELETE", f"/Groups/{group}")


async def test_entries_of_the_logs_are_found_by_the_name_in_them(shared: Inside) -> None:
    texts = list(TEXTS[::3])
    await query(
        shared,
        "INSERT INTO sys.login_log (create_time, event_id, event, outcome, user_name)"
        " SELECT now(), gen_random_uuid(), 'login', 'success', each FROM unnest(%s::text[]) each",
        texts,
    )
    await query(
        shared,
        "INSERT INTO sys.operation_log (create_time, event_id, module, action, kind, method, url, status,"
        " elapsed_ms, user_name, targets) SELECT now(), gen_random_uuid(), 'x', 'x', 'create', 'GET', '/',"
        " 200, 1, each, ARRAY['user ' || each] FROM unnest(%s::text[]) each",
        texts,
    )
    for path, name, before in (
        ("/api/login-log/list", "userName", ""),
        ("/api/operation-log/list", "userName", ""),
        ("/api/operation-log/list", "target", "user "),
    ):
        for text in texts:
            page = await shared.data("GET", f"{path}?{name}={quote(before + text, safe='')}")
            assert page["total"] == 1, (path, name)


@EACH
async def test_a_file_is_found_by_its_name(house: Inside, texts: Sequence[str]) -> None:
    for text in texts:
        name = f"{text}.pdf".replace("\\", "")
        made = (await upload(house, name, PDF)).json["data"]
        assert await not_found(listed(house, "/api/file/list", "name", made["id"]), made["name"]) == []


# Texts of their own grammar, in ASCII: codes, ids, times, addresses, cursors, paths.
ASCII: Final = frozenset(
    {
        "device",
        "loginIp",
        "clientIp",
        "cursor",
        "after",
        "requestId",
        "traceId",
        "from",
        "to",
        "at",
        "roleCode",
    }
    | {"resourceCode", "path", "service", "authMark", "phone", "createTimeFrom", "createTimeTo", "endsBefore"}
    | {"object", "line", "contentType", "reason", "module", "kind", "ground", "codes", "resource", "name"}
)
WALKED: Final = frozenset(
    {"userName", "nickName", "email", "keyword", "title", "roleName", "resourceName", "target"}
)


def text_filters() -> set[tuple[str, str]]:
    """Return the parameters of lists that are texts, by path."""
    document = current()

    def is_text(schema: dict[str, Any]) -> bool:
        return any(is_text(each) for each in schema.get("anyOf", ())) or (
            schema.get("type") == "string" and "enum" not in schema
        )

    return {
        (path, parameter["name"])
        for path, methods in document["paths"].items()
        for parameter in methods.get("get", {}).get("parameters", ())
        if path.endswith("/list") and parameter["in"] == "query" and is_text(parameter["schema"])
    }


def test_every_filter_by_text_is_walked_or_takes_ascii_alone() -> None:
    names = {name for _path, name in text_filters()}
    assert names - ASCII - WALKED == set()
    assert ("/api/file/list", "name") in text_filters()
    assert names >= WALKED


@with_each(
    ("path", "name", "longest"),
    [
        ("/api/user/list", "email", f"{'a' * (254 - 10)}@b.example"),
        ("/api/user/list", "keyword", "k" * 254),
        ("/api/user/list", "userName", "n" * 254),
        ("/api/user/list", "nickName", "n" * 64),
        ("/api/role/list", "roleName", "r" * 64),
        ("/api/menu/list", "title", "t" * SHORT_LINE.most),
        ("/api/resource/list", "resourceName", "r" * SHORT_LINE.most),
        ("/api/resource/list", "path", f"/{'p' * 1023}"),
        ("/api/file/list", "name", "f" * 255),
    ],
)
async def test_a_filter_takes_what_its_column_takes(
    shared: Inside, path: str, name: str, longest: str
) -> None:
    assert (await shared.ask("GET", f"{path}?{name}={quote(longest)}")).status == 200


async def test_an_unknown_field_of_a_list_is_refused_with_those_that_there_are(shared: Inside) -> None:
    refused = await shared.ask("GET", "/api/role/list?rolename=x")
    assert refused.status == 422
    assert refused.json["errors"] == [
        {
            "field": "rolename",
            "code": "unknown_parameter_of",
            "params": {"names": "page, size, keyword, roleName, roleCode, enabled, hasUser, sort"},
            "message": "There is no such parameter; there are page, size, keyword, roleName, roleCode,"
            " enabled, hasUser, sort",
        }
    ]


def test_the_texts_are_ones_that_names_may_have() -> None:
    assert len(set(TEXTS)) >= 40
    assert [text for text in TEXTS if text_fault(text) is not None] == []
    assert len([text for text in TEXTS if name_fault(text) is None]) >= 25
