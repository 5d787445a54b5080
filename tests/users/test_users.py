"""Making, reading, editing and deleting users."""

from typing import Any

from service.endpoints.users import User
from service.kernel.fields import camel
from tests.support.inside import Inside
from tests.users.people import HERON, PASSWORD, caller, execute, made, role_id

ALL_OF_IT = {
    "email": "Heron@example.org",
    "phone": "+49 30 1234567",
    "gender": "female",
    "avatar": "https://example.org/heron.png?size=2",
    "language": "zh-CN",
    "timeZone": "America/Argentina/Salta",
    "status": "disabled",
}


async def test_a_new_user_is_answered_whole_and_may_log_in(house: Inside) -> None:
    auditor = role_id(house, "auditor")

    answer = await house.ask("POST", "/api/user", HERON | {"roleIds": [auditor, auditor]})

    data = answer.json["data"]
    assert (answer.status, answer.header("etag")) == (201, '"1"')
    assert set(data) == set(map(camel, User.__struct_fields__))
    assert data["roles"] == [{"id": auditor, "roleCode": "auditor", "roleName": "Auditor"}]
    assert (data["status"], data["email"]) == ("enabled", None)
    assert PASSWORD not in answer.body.decode()
    assert (await house.ask("GET", f"/api/user/{data['id']}")).json["data"] == data
    token = await house.log_in("HERON", PASSWORD)
    assert (await house.ask("GET", "/api/user/list", token=token)).status == 200


async def test_everything_that_can_be_said_is_kept(house: Inside) -> None:
    data = await made(house, **ALL_OF_IT)

    assert data.items() >= ALL_OF_IT.items()
    login = {"userName": "heron", "password": PASSWORD}
    assert (await house.ask("POST", "/api/auth/login", login)).code == "account_disabled"


async def test_an_edit_replaces_all_roles(house: Inside) -> None:
    auditor, user = role_id(house, "auditor"), role_id(house, "user")
    heron = await made(house, "heron", auditor)

    after = await house.data("PATCH", f"/api/user/{heron['id']}", {"roleIds": [user]})
    assert [role["id"] for role in after["roles"]] == [user]
    after = await house.data("PATCH", f"/api/user/{heron['id']}", {"roleIds": []})
    assert after["roles"] == []


async def test_a_user_is_renamed_and_logs_in_by_the_new_name_only(house: Inside) -> None:
    heron = await made(house)

    await house.data("PATCH", f"/api/user/{heron['id']}", {"userName": "Egret"})

    assert await house.log_in("egret", PASSWORD)
    login = {"userName": "heron", "password": PASSWORD}
    assert (await house.ask("POST", "/api/auth/login", login)).code == "login_failed"


async def test_a_name_is_taken_in_all_its_spellings(house: Inside) -> None:
    await made(house)
    other = await made(house, "stork")

    for name in ("heron", "HERON", "\uff48eron"):
        for method, path in (("POST", "/api/user"), ("PATCH", f"/api/user/{other['id']}")):
            body = (HERON if method == "POST" else {}) | {"userName": name}
            answer = await house.ask(method, path, body)
            assert (answer.status, answer.code) == (409, "conflict")
    assert (await house.data("GET", f"/api/user/{other['id']}"))["version"] == 1


async def test_the_own_name_in_another_spelling_is_free(house: Inside) -> None:
    heron = await made(house)
    after = await house.data("PATCH", f"/api/user/{heron['id']}", {"userName": "Heron"})
    assert after["userName"] == "Heron"


REFUSED: dict[str, list[Any]] = {
    # The last name has a Cyrillic e.
    "userName": ["", "x" * 255, " heron", "her\non", "her\u202eon", None, 7, "h\u0435ron"],
    "nickName": ["", "her\u200bon", "\0"],
    "email": [
        "heron",
        "heron@example.org\nBcc: all@example.org",
        "<script>@example.org",
        "h" * 250 + "@example.org",
    ],
    "phone": ["call me", "1" * 33],
    "gender": ["bird"],
    "avatar": [
        "javascript:alert(1)",
        "//evil.example/x.png",
        "/\\evil.example",
        "data:image/png;base64,AAAA",
        "https://example.org/a b",
        "/" + "a" * 1024,
    ],
    # No shipped language, though a prefix of one; folders and files of the database are no zones.
    "language": ["", "zh", "tlh", "zh-CN\n", 7],
    "timeZone": ["", "America", "asia/shanghai", "Europe/Atlantis", "../UTC", "leapseconds", "localtime", 7],
    "status": ["asleep"],
    "id": [7],
    "isAdmin": [True],
    "passwordHash": ["x"],
    "createTime": ["2026-11-21T02:33:53.123Z"],
    "version": [7],
    "roles": [[{"id": 1}]],
}


async def test_what_can_not_be_is_refused_by_name(shared: Inside) -> None:
    for field, values in REFUSED.items():
        for value in values:
            for method, path, body in (("POST", "/api/user", HERON), ("PATCH", "/api/user/1", {})):
                answer = await shared.ask(method, path, body | {field: value})
                assert answer.fields == [field], (method, value)


async def test_half_a_character_is_never_a_fault_of_the_service(shared: Inside) -> None:
    for name in ("\ud800", "\udfff\ud800", "a\udcff"):
        for body in ({"userName": name}, {"nickName": name}, {"email": f"{name}@example.org"}, {name: 1}):
            assert (await shared.ask("PATCH", "/api/user/1", body)).status in (400, 422)


async def test_all_faults_are_told_together(shared: Inside) -> None:
    answer = await shared.ask("PATCH", "/api/user/1", {"userName": " ", "email": "x", "avatar": "x"})
    assert answer.fields == ["userName", "email", "avatar"]


async def test_a_weak_password_is_refused_and_not_repeated(shared: Inside) -> None:
    for password in ("brief", "password1", "heronheron", "x" * 200):
        answer = await shared.ask("POST", "/api/user", HERON | {"password": password})
        assert answer.fields == ["password"], password
        assert password not in answer.body.decode()


async def test_a_password_is_no_part_of_an_edit(shared: Inside) -> None:
    answer = await shared.ask("PATCH", "/api/user/1", {"password": PASSWORD})
    assert answer.fields == ["password"]


async def test_roles_that_do_not_exist_are_named_by_their_place(house: Inside) -> None:
    stork = await made(house, "stork")

    for method, path, body in (("POST", "/api/user", HERON), ("PATCH", f"/api/user/{stork['id']}", {})):
        answer = await house.ask(method, path, body | {"roleIds": [role_id(house, "user"), 4711, 4712]})
        assert answer.fields == ["roleIds[1]", "roleIds[2]"]
    assert execute(house, "SELECT count(*) FROM sys.user WHERE user_name = 'heron'") == [(0,)]


async def test_payloads_are_names_like_others(house: Inside) -> None:
    names = ["' OR 1=1 --", "%", "_", "\\", "a%00b", "'; DROP TABLE sys.user; --", "${7*7}", "{{7*7}}"]
    for name in names:
        heron = await made(house, name)
        assert heron["userName"] == name
        assert (await house.data("GET", f"/api/user/{heron['id']}"))["userName"] == name


async def test_a_deleted_user_is_gone_and_the_files_stay(house: Inside) -> None:
    heron = await made(house)
    execute(
        house,
        "INSERT INTO sys.file (key, name, size, sha256, content_type, owner_id)"
        " VALUES ('k', 'n', 0, repeat('0', 64), 'text/plain', %s)",
        heron["id"],
    )

    assert await house.data("DELETE", f"/api/user/{heron['id']}") is None

    assert (await house.ask("GET", f"/api/user/{heron['id']}")).status == 404
    assert execute(house, "SELECT owner_id FROM sys.file") == [(None,)]


async def test_callers_edit_their_own_profile(house: Inside) -> None:
    await made(house, "heron", role_id(house, "user"))
    token = await house.log_in("heron", PASSWORD)
    body = {"email": "h@example.org", "phone": "12345", "gender": "other", "avatar": "/h.png"}
    body |= {"nickName": "The heron"}

    edit = body | {"currentPassword": PASSWORD}
    answer = await house.ask("PUT", "/api/user/profile", edit, token=token)

    assert answer.json["data"].items() >= body.items()
    assert answer.header("etag") == '"2"'
    read = await house.ask("GET", "/api/user/profile", token=token)
    assert (read.json, read.header("etag")) == (answer.json, '"2"')
    # The token has the old nick name, and goes on.
    assert (await house.ask("GET", "/api/user/info", token=token)).json["data"]["avatar"] == "/h.png"
    stale = await house.ask("PUT", "/api/user/profile", body, ("If-Match", '"1"'), token=token)
    assert stale.code == "precondition_failed"


async def test_users_choose_their_language_and_time_zone(house: Inside) -> None:
    await made(house)
    token = await house.log_in("heron", PASSWORD)

    async def chosen(*request: Any) -> tuple[str | None, str | None]:
        data = (await house.ask(*request, token=token)).json["data"]
        return data["language"], data["timeZone"]

    assert await chosen("GET", "/api/user/info") == (None, None)
    edit = {"language": "ZH-cn", "timeZone": "Asia/Shanghai"}
    assert await chosen("PUT", "/api/user/profile", edit) == ("zh-CN", "Asia/Shanghai")
    assert await chosen("GET", "/api/user/info") == ("zh-CN", "Asia/Shanghai")
    assert await chosen("PUT", "/api/user/profile", {"language": None}) == (None, "Asia/Shanghai")


async def test_a_client_that_does_not_know_language_and_time_zone_keeps_them(house: Inside) -> None:
    heron = await made(house, language="zh-CN", timeZone="Asia/Shanghai")
    known = ("userName", "nickName", "email", "phone", "gender", "avatar", "status", "service")
    body = {name: heron[name] for name in known} | {"roleIds": [], "phone": "123"}

    saved = await house.data("PUT", f"/api/user/{heron['id']}", body)

    assert (saved["phone"], saved["language"], saved["timeZone"]) == ("123", "zh-CN", "Asia/Shanghai")


async def test_a_profile_is_no_way_to_the_rest_of_the_account(shared: Inside) -> None:
    rest = {"userName": "root", "status": "enabled", "roleIds": [1], "password": PASSWORD, "id": 1}
    for field, value in rest.items():
        assert (await shared.ask("PUT", "/api/user/profile", {field: value})).fields == [field]


async def test_each_operation_needs_its_code(house: Inside) -> None:
    actions = ("list", "detail", "create", "update", "delete", "reset-password")
    operations: dict[str, list[tuple[str, str, Any]]] = {
        "list": [("GET", "/api/user/list", None)],
        "detail": [("GET", "/api/user/1", None)],
        "create": [("POST", "/api/user", HERON)],
        "update": [("PATCH", "/api/user/1", {}), ("PUT", "/api/user/1/status", {"status": "disabled"})],
        "reset-password": [("PUT", "/api/user/1/password", {"newPassword": PASSWORD})],
        "delete": [("DELETE", "/api/user/1", None)],
    }
    for action, asked in operations.items():
        others = [f"system:user:{other}" for other in actions if other != action]
        token = await caller(house, f"all-but-{action}", *others)
        for method, path, body in asked:
            answer = await house.ask(method, path, body, token=token)
            assert (answer.status, answer.code) == (403, "permission_denied")
            assert answer.json["required"] == [f"system:user:{action}"]
