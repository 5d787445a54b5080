"""A restore brings exactly the shared lines of a past revision back, by edits that the caller may make."""

import asyncio
import random
from typing import Any, Final

import psycopg
import pytest

from tests.support.inside import Inside
from tests.support.members import query

ANY: Final = ("If-Match", "*")
PASSWORD: Final = "six stubborn otters"
PATHS: Final = ("/api/report", "/api/report/{id}", "/api/report/{number}", "/api/report/new", "/api/x/{a}")


class Ledger:
    """A service whose policy is changed at random, and restored."""

    def __init__(self, service: Inside, seed: int = 0) -> None:
        self.service = service
        self.dice = random.Random(seed)
        self._made = 0

    async def button(self, code: str, **values: Any) -> int:
        body = {"menuType": "Button", "title": f"May {code}", "authMark": code, **values}
        return int((await self.service.data("POST", "/api/menu", body))["id"])

    async def resource(self, method: str, path: str, **values: Any) -> int:
        self._made += 1
        body = {
            "resourceName": f"R{self._made}",
            "resourceCode": f"r{self._made}",
            "method": method,
            "path": path,
        }
        return int((await self.service.data("POST", "/api/resource", body | values))["id"])

    async def bind(self, resource: int, *buttons: int) -> None:
        body = {"menuIds": list(buttons)}
        await self.service.data("PUT", f"/api/resource/{resource}/buttons", body, ANY)

    async def revision(self) -> int:
        return int((await self.service.data("GET", "/api/policy/revisions?size=1"))["items"][0]["revision"])

    async def forget_digests_below(self, revision: int) -> None:
        """Make revisions as those of a version that recorded no digest of lines: these are not checked."""
        without = "UPDATE sys.policy_revision SET lines_digest = NULL WHERE revision < %s"
        await query(self.service, without, revision)

    async def restore(self, revision: int, *headers: tuple[str, str], token: str | None = None) -> Any:
        path = f"/api/policy/revisions/{revision}/restore"
        return await self.service.ask("POST", path, None, *headers, token=token)

    async def entries(self, module: str) -> list[Any]:
        listed: list[Any] = (await self.service.data("GET", f"/api/operation-log/list?module={module}"))[
            "items"
        ]
        return listed

    async def dry(self, revision: int) -> Any:
        return await self.service.data("POST", f"/api/policy/revisions/{revision}/restore?dryRun=true")

    async def differing(self, first: int, other: int) -> list[str]:
        diff = await self.service.data("GET", f"/api/policy/diff?from={first}&to={other}")
        return [*diff["addedLines"], *diff["removedLines"]]

    async def change(self) -> None:
        """Make some change; it may be refused."""
        buttons = (await self.service.data("GET", "/api/menu/list?authMark=x:&size=200"))["items"]
        resources = (await self.service.data("GET", "/api/resource/list?resourceCode=r&path=/api/&size=200"))[
            "items"
        ]
        mine = [resource for resource in resources if resource["resourceCode"][1:].isdigit()]
        kinds = [self._new_button, self._new_resource]
        kinds += [self._edit_button, self._drop_button] if buttons else []
        kinds += [self._edit_resource, self._drop_resource, self._bind_some, self._bind_some] if mine else []
        method, path, body = self.dice.choice(kinds)(buttons, mine)
        await self.service.ask(method, path, body, ANY)

    def _new_button(self, *_known: Any) -> tuple[str, str, Any]:
        code = f"x:{self.dice.randrange(6)}"
        on = self.dice.random() < 0.6
        return "POST", "/api/menu", {"menuType": "Button", "title": "B", "authMark": code, "enabled": on}

    def _edit_button(self, buttons: Any, _mine: Any) -> tuple[str, str, Any]:
        button = self.dice.choice(buttons)
        code = button["authMark"] if self.dice.random() < 0.6 else f"x:{self.dice.randrange(6)}"
        body = {"title": "B2", "authMark": code, "parentId": None, "enabled": self.dice.random() < 0.5}
        return "PATCH", f"/api/menu/{button['id']}", body

    def _drop_button(self, buttons: Any, _mine: Any) -> tuple[str, str, Any]:
        return "DELETE", f"/api/menu/{self.dice.choice(buttons)['id']}", None

    def _new_resource(self, *_known: Any) -> tuple[str, str, Any]:
        self._made += 1
        method, path = self.dice.choice(("GET", "PUT")), self.dice.choice(PATHS)
        body = {"resourceName": "N", "resourceCode": f"r{self._made}", "method": method, "path": path}
        return "POST", "/api/resource", body | self._demand() | {"enabled": self.dice.random() < 0.8}

    def _demand(self) -> dict[str, Any]:
        demand = self.dice.choice([None, "login", "two-factors-within-12h"])
        return {"assurance": demand, "services": demand is not None and self.dice.random() < 0.5}

    def _edit_resource(self, _buttons: Any, mine: Any) -> tuple[str, str, Any]:
        resource = self.dice.choice(mine)
        body = {name: resource[name] for name in ("resourceCode", "method", "path", "resourceName")}
        if self.dice.random() < 0.5:
            body["path"] = self.dice.choice(PATHS)
        if self.dice.random() < 0.5:
            body |= self._demand()
        return "PATCH", f"/api/resource/{resource['id']}", body | {"enabled": self.dice.random() < 0.6}

    def _drop_resource(self, _buttons: Any, mine: Any) -> tuple[str, str, Any]:
        return "DELETE", f"/api/resource/{self.dice.choice(mine)['id']}", None

    def _bind_some(self, buttons: Any, mine: Any) -> tuple[str, str, Any]:
        ids = [button["id"] for button in buttons if self.dice.random() < 0.4]
        return "PUT", f"/api/resource/{self.dice.choice(mine)['id']}/buttons", {"menuIds": ids}


@pytest.fixture(scope="module")
def ledger(shared: Inside) -> Ledger:
    """For tests whose codes, paths and names are their own, so that they do not disturb one another."""
    return Ledger(shared)


@pytest.fixture
def own_ledger(service: Inside) -> Ledger:
    """For tests that also change what the database has kept."""
    return Ledger(service)


async def member(ledger: Ledger, name: str, *codes: str) -> str:
    """Return the token of a new user who holds these codes."""
    known = (await ledger.service.data("GET", "/api/menu/list?menuType=Button&size=200"))["items"]
    ids = [menu["id"] for menu in known if menu["authMark"] in codes]
    role = (await ledger.service.data("POST", "/api/role", {"roleName": name, "roleCode": name}))["id"]
    await ledger.service.data("PUT", f"/api/role/{role}/permissions", {"menuIds": ids}, ANY)
    user = {"userName": name, "nickName": name, "password": PASSWORD, "roleIds": [role]}
    await ledger.service.data("POST", "/api/user", user)
    return await ledger.service.log_in(name, PASSWORD)


async def _brings_lines_back(service: Inside, seed: int, *, changes: int, restores: int) -> None:
    ledger, restored = Ledger(service, seed), 0
    for _ in range(restores):
        for _ in range(changes):
            await ledger.change()
        newest = await ledger.revision()
        past = ledger.dice.randint(1, newest)
        tried = await service.ask("POST", f"/api/policy/revisions/{past}/restore?dryRun=true")
        assert await ledger.revision() == newest

        answer = await ledger.restore(past)

        assert answer.status == tried.status, (seed, past, newest, answer.body)
        if answer.status != 200:  # the code of a resource has moved to one that has to stay
            assert {entry["reason"].split(" r")[0] for entry in answer.json["cannotReturn"]} == {"its code"}
            continue
        preview, done = tried.json["data"], answer.json["data"]
        assert await ledger.differing(past, done["policyRevision"]) == [], (seed, past, newest)
        assert len(done["edits"]) == len(preview["edits"])
        assert (done["policyRevision"] > newest) == bool(done["edits"])
        restored += 1
    assert restored > restores / 2


async def test_a_restore_after_random_changes_brings_exactly_the_same_lines_back(service: Inside) -> None:
    await _brings_lines_back(service, 1, changes=7, restores=2)


@pytest.mark.extended
@pytest.mark.parametrize("seed", range(6, 10))
async def test_many_restores_after_random_changes_bring_the_same_lines_back(
    service: Inside, seed: int
) -> None:
    await _brings_lines_back(service, seed, changes=14, restores=8)


async def test_names_disabled_buttons_and_bindings_return(ledger: Ledger) -> None:
    service = ledger.service
    closed = await ledger.button("x:closed", enabled=False)
    gone = await ledger.button("x:gone")
    kept = await ledger.resource("GET", "/api/named/{id}", resourceName="First", description="Long ago")
    await ledger.bind(kept, closed, gone)
    await service.data(
        "PATCH", f"/api/menu/{gone}", {"title": "Newer", "authMark": "x:gone", "parentId": None}, ANY
    )
    past = await ledger.revision()
    await service.data("DELETE", f"/api/resource/{kept}", None, ANY)
    await service.data("DELETE", f"/api/menu/{gone}", None, ANY)

    preview = await ledger.dry(past)
    done = (await ledger.restore(past)).json["data"]

    requests = ["POST /api/menu", "POST /api/resource", "PUT /api/resource/{id}/buttons"]
    assert [edit["request"] for edit in preview["edits"]] == requests
    assert [edit["name"] for edit in preview["edits"]] == ["x:gone", *["GET /api/named/{id}"] * 2]
    (bound,) = preview["edits"][2]["changes"]
    assert bound == {"field": "buttons", "before": [], "after": ["x:closed", "x:gone"]}
    assert {"field": "title", "before": None, "after": "Newer"} in preview["edits"][0]["changes"]
    (made,) = (await service.data("GET", "/api/resource/list?path=/api/named"))["items"]
    assert done["edits"][2]["request"] == f"PUT /api/resource/{made['id']}/buttons"
    assert (made["resourceName"], made["description"]) == ("First", "Long ago")
    buttons = (await service.data("GET", f"/api/resource/{made['id']}/buttons"))["buttons"]
    assert {button["authMark"]: button["enabled"] for button in buttons} == {
        "x:closed": False,
        "x:gone": True,
    }
    (revision,) = (await service.data("GET", "/api/policy/revisions?size=1"))["items"]
    assert revision["cause"] == f"revision {past} restored by admin"
    assert revision["revision"] == done["policyRevision"]


async def test_a_button_keeps_its_roles_when_it_gets_its_code_back(ledger: Ledger) -> None:
    service = ledger.service
    button = await ledger.button("x:old")
    past = await ledger.revision()
    await service.data(
        "PATCH", f"/api/menu/{button}", {"title": "B", "authMark": "x:new", "parentId": None}, ANY
    )
    token = await member(ledger, "keeper", "x:new")

    done = (await ledger.restore(past)).json["data"]

    assert [edit["request"] for edit in done["edits"]] == [f"PUT /api/menu/{button}"]
    assert (await service.ask("GET", "/api/user/info", token=token)).code == "refresh_required"
    token = await service.log_in("keeper", PASSWORD)
    answer = await service.ask("GET", "/api/user/info", token=token)
    assert answer.json["data"]["permissions"] == ["x:old"]


async def test_everything_that_can_not_return_is_named_and_nothing_is_changed(ledger: Ledger) -> None:
    past = await ledger.revision()
    await ledger.button("x:given")
    await member(ledger, "holder", "x:given")
    first = await ledger.resource("GET", "/api/first", resourceCode="mine")
    other = await ledger.resource("GET", "/api/second")
    middle = await ledger.revision()
    await ledger.service.data("DELETE", f"/api/resource/{first}", None, ANY)
    body = {"resourceName": "R", "resourceCode": "mine", "method": "GET", "path": "/api/second"}
    await ledger.service.data("PATCH", f"/api/resource/{other}", body, ANY)
    newest = await ledger.revision()

    used = await ledger.restore(past)
    taken = await ledger.restore(middle)

    assert (used.status, taken.status) == (409, 409)
    assert used.json["cannotReturn"] == [
        {
            "name": "x:given",
            "reason": "its Button would be deleted; first remove it from the roles: holder",
            "reasonCode": "button_used_by_roles",
            "reasonParams": {"roles": ["holder"]},
        }
    ]
    assert taken.json["cannotReturn"] == [
        {
            "name": "GET /api/first",
            "reason": f"its code mine is now that of resource {other}",
            "reasonCode": "code_of_other_resource",
            "reasonParams": {"code": "mine", "resource": other},
        }
    ]
    assert used.json["detail"].endswith(
        ": x:given: its Button would be deleted; first remove it from the roles: holder"
    )
    assert used.json["params"]["obstacles"]["params"]["reason"]["code"] == "button_used_by_roles"
    assert await ledger.revision() == newest


async def test_callers_need_the_rights_of_every_edit_and_to_grant_what_they_touch(ledger: Ledger) -> None:
    secret = await ledger.button("x:secret")
    kept = await ledger.resource("GET", "/api/secret")
    await ledger.bind(kept, secret)
    past = await ledger.revision()
    await ledger.service.data("DELETE", f"/api/resource/{kept}", None, ANY)
    newest = await ledger.revision()
    codes = ["system:policy:restore", "system:resource:create"]
    alone = await member(ledger, "alone", *codes[:1])
    some = await member(ledger, "some", *codes)
    most = await member(ledger, "most", *codes, "system:resource:bind")
    enough = await member(ledger, "enough", *codes, "system:resource:bind", "x:secret")

    refused = [await ledger.restore(past, token=token) for token in (alone, some, most)]

    denials = [(answer.code, answer.json["layer"], answer.json["required"]) for answer in refused]
    assert denials == [
        ("permission_denied", "endpoint", ["system:resource:create", "system:service:resources"]),
        ("permission_denied", "endpoint", ["system:resource:bind", "system:service:resources"]),
        ("permission_denied", "grant", ["x:secret"]),
    ]
    assert await ledger.revision() == newest
    page = await ledger.service.data("GET", "/api/resource/list?path=/api/secret")
    assert page["items"] == []  # what the last one had created before the refusal
    assert (await ledger.restore(past, token=enough)).status == 200
    assert await ledger.differing(past, newest + 1) == []


async def test_a_restore_that_would_lock_everybody_out_is_refused(own_ledger: Ledger) -> None:
    service = own_ledger.service
    off = await own_ledger.button("x:off", enabled=False)
    guard = await own_ledger.resource("POST", "/api/guarded", enabled=True)
    await own_ledger.bind(guard, off)
    past = await own_ledger.revision()
    async with await psycopg.AsyncConnection.connect(service.database_url) as connection:
        # As if that revision had closed it: no request can make one that does.
        for table, column in (("policy_line", "object"), ("resource_history", "path")):
            before, after = ("POST /api/guarded", "POST /api/policy/reload")
            if column == "path":
                before, after = before.removeprefix("POST "), after.removeprefix("POST ")
            statement = f"UPDATE sys.{table} SET {column} = '{after}' WHERE {column} = '{before}'"
            await connection.execute(statement.encode())
    await service.data("DELETE", f"/api/resource/{guard}", None, ANY)
    newest = await own_ledger.revision()
    await own_ledger.forget_digests_below(newest)

    answer = await own_ledger.restore(past)

    assert answer.status == 409, answer.body
    assert "POST /api/policy/reload" in answer.json["lockedOut"]
    assert await own_ledger.revision() == newest


async def test_a_restore_is_refused_when_the_policy_is_no_longer_the_one_that_was_looked_at(
    ledger: Ledger,
) -> None:
    past = await ledger.revision()
    await ledger.resource("GET", "/api/report")
    seen = await ledger.revision()
    await ledger.resource("GET", "/api/other")

    late = await ledger.restore(past, ("If-Match", f'"{seen}"'))
    in_time = await ledger.restore(past, ("If-Match", f'"{await ledger.revision()}"'))

    assert (late.status, in_time.status) == (412, 200)


async def test_a_restore_among_other_changes_has_the_lines_of_its_revision_alone(ledger: Ledger) -> None:
    past = await ledger.revision()
    await ledger.resource("GET", "/api/report")

    answer, *others = await asyncio.gather(
        ledger.restore(past), *(ledger.resource("GET", f"/api/other/{number}") for number in range(3))
    )

    restored = answer.json["data"]["policyRevision"]
    assert await ledger.differing(past, restored) == []
    assert await ledger.revision() == past + 1 + len(others) + 1


async def test_the_operation_log_tells_what_a_restore_has_changed(ledger: Ledger) -> None:
    past = await ledger.revision()
    made = await ledger.resource("GET", "/api/report")

    await ledger.restore(past)

    response = ""
    async with asyncio.timeout(20):
        while f"DELETE /api/resource/{made}" not in response:  # written in the background
            await asyncio.sleep(0.05)
            if logged := await ledger.entries("policy"):
                entry = await ledger.service.data("GET", f"/api/operation-log/{logged[0]['id']}")
                response = str(entry["response"])
    assert (entry["module"], entry["kind"], entry["status"]) == ("policy", "UPDATE", 200)
    assert {change["target"] for change in entry["changes"]} == {"resource:GET /api/report"}


async def test_a_revision_without_kept_rows_returns_as_far_as_its_lines_tell(own_ledger: Ledger) -> None:
    service = own_ledger.service
    button, off = await own_ledger.button("x:one"), await own_ledger.button("x:off", enabled=False)
    kept, lost = (
        await own_ledger.resource("GET", "/api/report"),
        await own_ledger.resource("GET", "/api/other"),
    )
    await own_ledger.bind(kept, button)
    past = await own_ledger.revision()
    await own_ledger.bind(lost, off)
    closed = await own_ledger.revision()
    await own_ledger.bind(kept)
    await own_ledger.bind(lost)
    unknown = await own_ledger.resource("GET", "/api/later")
    newest = await own_ledger.revision()
    async with await psycopg.AsyncConnection.connect(service.database_url) as connection:
        # As a migration from the version before leaves it: the rows of the newest revision alone.
        await connection.execute(f"UPDATE sys.policy_revision SET rows_kept = revision = {newest}".encode())
        for table in ("resource_history", "button_history", "binding_history"):
            await connection.execute(f"DELETE FROM sys.{table} WHERE until IS NOT NULL".encode())
            await connection.execute(f"UPDATE sys.{table} SET since = {newest}".encode())

    answer = await own_ledger.restore(closed)
    done = await own_ledger.restore(past)

    reason = "its disabled Buttons are not stored"
    (lost,) = answer.json["cannotReturn"]
    assert (lost["name"], lost["reason"]) == ("GET /api/other", reason)
    assert lost["reasonCode"] == "disabled_buttons_not_stored"
    assert done.status == 200, done.body
    requests = [edit["request"] for edit in done.json["data"]["edits"]]
    # What is not known to have been deleted is disabled.
    assert requests == [f"PUT /api/resource/{unknown}", f"PUT /api/resource/{kept}/buttons"]
    assert await own_ledger.differing(past, newest + 1) == []


async def test_texts_from_before_a_rule_return_without_what_can_not_be_seen(own_ledger: Ledger) -> None:
    service = own_ledger.service
    button, kept = await own_ledger.button("x:one"), await own_ledger.resource("GET", "/api/report")
    other = {"name": "orders", "description": "Orders", "ignoreCase": True}
    elsewhere = (await service.data("POST", "/api/service", other))["id"]
    await own_ledger.bind(kept, button)
    past = await own_ledger.revision()
    await service.data("DELETE", f"/api/resource/{kept}", None, ANY)
    await service.data("DELETE", f"/api/menu/{button}", None, ANY)
    await service.data("DELETE", f"/api/service/{elsewhere}", None, ANY)
    async with await psycopg.AsyncConnection.connect(service.database_url) as connection:
        await connection.execute(
            """UPDATE sys.resource_history SET resource_name = E'Re\\u202Ead', description = E'a\n\\u200Bb'
               WHERE path = '/api/report';
               UPDATE sys.button_history SET title = E'\\u2066Read', name = E'o\\u202Ene', icon = E'i\\u200F'
               WHERE auth_mark = 'x:one';
               UPDATE sys.service_history SET description = E'Or\\u202Eders' WHERE name = 'orders'"""
        )

    answer = await own_ledger.restore(past)

    assert answer.status == 200, answer.body
    (made,) = (await service.data("GET", "/api/resource/list?path=/api/report"))["items"]
    assert (made["resourceName"], made["description"]) == ("Re ad", "a\n b")
    (made,) = (await service.data("GET", "/api/menu/list?authMark=x:one"))["items"]
    assert (made["title"], made["name"], made["icon"]) == ("Read", "o ne", "i")
    (made,) = (await service.data("GET", "/api/service/list?name=orders"))["items"]
    assert made["description"] == "Or ders"


async def test_a_router_returns_though_the_description_would_not_be_accepted_now(own_ledger: Ledger) -> None:
    service = own_ledger.service
    body = {"name": "orders", "ignoreCase": True}
    orders = (await service.data("POST", "/api/service", body))["id"]
    past = await own_ledger.revision()
    await service.data("PATCH", f"/api/service/{orders}", {"ignoreCase": False}, ANY)
    await query(service, "UPDATE sys.service SET description = E'Or\\u202Eders'")

    answer = await own_ledger.restore(past)

    assert answer.status == 200, answer.body
    stored = await service.data("GET", f"/api/service/{orders}")
    assert (stored["ignoreCase"], stored["description"]) == (True, "Or\u202eders")


async def test_buttons_are_enabled_and_disabled_as_they_were(ledger: Ledger) -> None:
    on, off = await ledger.button("x:on"), await ledger.button("x:off", enabled=False)
    past = await ledger.revision()
    for button, code, enabled in ((on, "x:on", False), (off, "x:off", True)):
        body = {"title": "B", "authMark": code, "parentId": None, "enabled": enabled}
        await ledger.service.data("PATCH", f"/api/menu/{button}", body, ANY)

    done = (await ledger.restore(past)).json["data"]

    assert {edit["request"] for edit in done["edits"]} == {f"PUT /api/menu/{on}", f"PUT /api/menu/{off}"}
    assert await ledger.differing(past, done["policyRevision"]) == []


async def test_a_revision_from_before_the_permission_layer_leaves_the_state_of_buttons(
    own_ledger: Ledger,
) -> None:
    button = await own_ledger.button("x:on")
    past = await own_ledger.revision()
    body = {"title": "B", "authMark": "x:on", "parentId": None, "enabled": False}
    await own_ledger.service.data("PATCH", f"/api/menu/{button}", body, ANY)
    resource = await own_ledger.resource("GET", "/api/report")
    newest = await own_ledger.revision()
    async with await psycopg.AsyncConnection.connect(own_ledger.service.database_url) as connection:
        await connection.execute("DELETE FROM sys.policy_line WHERE layer = 'permission' AND until > 0")
        await connection.execute(
            f"UPDATE sys.policy_line SET since = {newest} WHERE layer = 'permission'".encode()
        )
    await own_ledger.forget_digests_below(newest)

    done = await own_ledger.restore(past)

    assert done.status == 200, done.body
    assert [edit["request"] for edit in done.json["data"]["edits"]] == [f"DELETE /api/resource/{resource}"]


RULE: Final[dict[str, Any]] = {
    "requestableBy": "@login",
    "stages": [{"code": "system:user:list", "approvals": 2}],
    "maxDuration": 3600,
    "pendingTimeout": 600,
    "reasonRequired": True,
    "assurance": "two-factors",
}


async def role_that_may_be_asked_for(ledger: Ledger, code: str) -> str:
    """Make a role with a rule; return the path of the rule."""
    made = await ledger.service.data("POST", "/api/role", {"roleName": code, "roleCode": code})
    path = f"/api/role/{made['id']}/request-rule"
    await ledger.service.data("PUT", path, RULE)
    return path


async def test_rules_of_requests_return_as_they_were_with_their_limits(ledger: Ledger) -> None:
    service = ledger.service
    before = await ledger.revision()
    path = await role_that_may_be_asked_for(ledger, "returning")
    past = await ledger.revision()
    await service.data("PUT", path, RULE | {"stages": RULE["stages"] * 2, "maxDuration": 60}, ANY)

    edited = (await ledger.restore(past)).json["data"]
    back = await service.data("GET", path)
    await service.data("DELETE", path, None, ANY)
    restored = (await ledger.restore(past)).json["data"]
    again = await service.data("GET", path)
    gone = (await ledger.restore(before)).json["data"]

    assert [edit["request"] for edit in edited["edits"]] == [f"PUT {path}"]
    assert back.items() >= RULE.items()
    assert [edit["request"] for edit in restored["edits"]] == [f"PUT {path}"]
    assert again.items() >= RULE.items()
    assert [edit["request"] for edit in gone["edits"]] == [f"DELETE {path}"]
    assert (await service.ask("GET", path)).status == 404


async def test_a_role_that_is_gone_or_disabled_gets_no_rule_back(ledger: Ledger) -> None:
    service = ledger.service
    paths = [await role_that_may_be_asked_for(ledger, code) for code in ("leaving", "sleeping")]
    past = await ledger.revision()
    leaving, sleeping = (path.removesuffix("/request-rule") for path in paths)
    await service.data("DELETE", leaving, None, ANY)
    shown = await service.data("GET", sleeping)
    body = {name: shown[name] for name in ("roleName", "roleCode")} | {"enabled": False}
    await service.data("PATCH", sleeping, body, ANY)

    refused = await ledger.restore(past)

    assert refused.status == 409
    assert [(each["name"], each["reason"], each["reasonCode"]) for each in refused.json["cannotReturn"]] == [
        ("role leaving", "the role no longer exists", "role_gone"),
        ("role sleeping", "the role is disabled", "role_disabled"),
    ]


@pytest.mark.feature("reviews")
async def test_the_line_of_a_review_stays_whatever_revision_is_restored(ledger: Ledger) -> None:
    service = ledger.service
    button = await ledger.button("report:decide")
    before = await ledger.revision()
    await service.data(
        "POST",
        "/api/review",
        {
            "title": "Access 2026-Q4",
            "scope": {},
            "reviewers": {"code": "report:decide"},
            "deadline": "2099-01-01T00:00:00Z",
            "onSilence": "keep",
            "apply": "at_end",
        },
    )
    begun = await ledger.revision()
    resource = await ledger.resource("GET", "/api/report/decided")
    await ledger.bind(resource, button)

    async def lines() -> list[str]:
        async with await psycopg.AsyncConnection.connect(service.database_url) as connection:
            rows = await connection.execute("SELECT v1, v2 FROM sys.casbin_rule WHERE v0 = 'review'")
            return [f"{name}, {code}" for name, code in await rows.fetchall()]

    line = ["assignment for others by report:decide, report:decide"]
    assert await lines() == line
    for revision, edits in ((begun, 1), (before, 0)):
        restored = await ledger.restore(revision)
        assert restored.status == 200, restored.body
        assert len(restored.json["data"]["edits"]) == edits
        assert await lines() == line
    newest = await ledger.revision()
    assert (await service.data("POST", "/api/policy/reload"))["policyRevision"] == newest


async def test_unknown_revisions_are_not_found(ledger: Ledger) -> None:
    assert (await ledger.restore(999)).code == "not_found"
