"""By which directories a user is known: read and unlinked, by the user and by administrators."""

from typing import Any

from tests.features.oidc.conftest import Browser, query_of
from tests.features.oidc.hostile import HostileProvider
from tests.support.inside import Inside
from tests.support.members import Member, member, query
from tests.users.test_grants import logged

OWN = "/api/user/profile/origins"
KNOWN = (
    "INSERT INTO sys.directory_account (source, issuer, subject, user_id, managed)"
    " VALUES (%s, %s, %s, %s, %s)"
)
LONG_AGO = "UPDATE sys.directory_session SET opened_time = now() - interval '1 hour' WHERE user_id = %s"


async def own(front: Inside, token: str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = (await front.ask("GET", OWN, token=token)).json["data"]["items"]
    return items


async def unlink(front: Inside, token: str, name: str = "good") -> Any:
    return await front.ask("DELETE", f"{OWN}/{name}", token=token)


async def linked(front: Inside, browser: Browser, *codes: str) -> tuple[Member, str]:
    """Link a member with the account at the provider; return it, and the token of the new session."""
    heron = await member(front, f"h{browser.provider.subject}", *codes)
    order = {"next": "/front", "challenge": browser.challenge}
    place = await heron.ask("POST", f"/api/auth/oidc/{browser.name}/link", order)
    back = await browser.back(browser.provider.authorized(place.json["data"]["url"]))
    answer = await browser.redeem(query_of(back)["code"])
    return heron, answer.json["data"]["accessToken"]


async def test_people_see_who_knows_them_and_which_session_comes_from_there(
    front: Inside, browser: Browser
) -> None:
    [origin] = await own(front, await browser.sign_in())
    assert origin.pop("createTime")
    assert origin.pop("lastTime")
    subject = browser.provider.subject
    expected = {"source": "good", "title": "good", "issuer": browser.provider.url, "subject": subject}
    assert origin == expected | {"managed": False, "provider": True, "current": True}


async def test_a_session_by_password_does_not_come_from_a_provider(front: Inside, browser: Browser) -> None:
    heron, _ = await linked(front, browser)
    await query(front, LONG_AGO, heron.user_id)  # a session may open for minutes after the sign-in
    await heron.log_in()
    [origin] = (await heron.ask("GET", OWN)).json["data"]["items"]
    assert not origin["current"]


async def test_the_last_way_to_sign_in_stays(front: Inside, browser: Browser) -> None:
    token = await browser.sign_in()
    refused = await unlink(front, token)
    assert (refused.status, refused.json["rule"]) == (409, "last_way_in")
    assert len(await own(front, token)) == 1


async def test_a_provider_that_is_cut_off_is_no_other_way(
    front: Inside, browser: Browser, other_provider: HostileProvider
) -> None:
    token = await browser.sign_in()
    user_id = (await front.ask("GET", "/api/user/info", token=token)).json["data"]["userId"]
    await query(front, KNOWN, "other", other_provider.url, f"o{user_id}", user_id, False)
    body = {"kind": "oidc", "mapping": [], "ceiling": [], "enabled": False}
    await front.data("PUT", "/api/directory/other", body)
    assert (await unlink(front, token)).json["rule"] == "last_way_in"
    await front.data("PUT", "/api/directory/other", body | {"enabled": True})
    assert (await unlink(front, token)).status == 200


async def test_who_has_a_password_unlinks_and_the_account_there_signs_nobody_in(
    front: Inside, browser: Browser
) -> None:
    heron, token = await linked(front, browser)
    back = await browser.back(browser.provider.authorized(await browser.url(device="phone")))
    other = (await browser.redeem(query_of(back)["code"])).json["data"]["accessToken"]
    assert (await unlink(front, token)).status == 200
    assert (await front.ask("GET", "/api/user/info", token=other)).status == 401
    await heron.log_in()
    assert (await heron.ask("GET", OWN)).json["data"]["items"] == []
    stranger = await browser.sign_in()
    assert (await front.ask("GET", "/api/user/info", token=stranger)).json["data"]["userId"] != heron.user_id
    notices = (await heron.ask("GET", "/api/user/profile/notices")).json["data"]["items"]
    assert "identity_unlinked" in {each["kind"] for each in notices}
    assert (await heron.ask("DELETE", f"{OWN}/good")).status == 404


async def test_an_old_login_does_not_unlink(front: Inside, browser: Browser) -> None:
    browser.provider.changes = {"auth_time": None}
    _, token = await linked_before(front, browser)
    refused = await unlink(front, token)
    assert refused.code == "insufficient_user_authentication"


async def linked_before(front: Inside, browser: Browser) -> tuple[Member, str]:
    heron = await member(front, f"h{browser.provider.subject}")
    values = ("good", browser.provider.url, browser.provider.subject, heron.user_id, False)
    await query(front, KNOWN, *values)
    return heron, await browser.sign_in()


async def test_an_administrator_unlinks_and_ends_what_the_directory_gave(
    front: Inside, browser: Browser
) -> None:
    role = f"r{browser.provider.subject}"
    await member(front, role, "system:file:list")
    body = {
        "kind": "oidc",
        "mapping": [{"group": "Readers", "roles": [role]}],
        "ceiling": ["system:file:list"],
    }
    await front.data("PUT", "/api/directory/good", body)
    browser.provider.changes = {"groups": ["Readers"]}
    heron, token = await linked_before(front, browser)
    assert (await front.ask("GET", "/api/file/list", token=token)).status == 200
    [given] = [
        each
        for each in (await front.data("GET", f"/api/user/{heron.user_id}/roles"))["items"]
        if each["source"] == "directory"
    ]
    assert given["directory"] == "good"
    assert given["until"]

    target = f"/api/user/{heron.user_id}/origins"
    [origin] = (await front.data("GET", target))["items"]
    assert (origin["source"], origin["current"]) == ("good", False)
    done = await front.ask("DELETE", f"{target}/good")
    assert done.status == 200
    assert (await front.data("GET", target))["items"] == []
    assert (await front.ask("GET", "/api/user/info", token=token)).status == 401
    roles = (await front.data("GET", f"/api/user/{heron.user_id}/roles"))["items"]
    assert "directory" not in {each["source"] for each in roles}
    assert (await front.ask("DELETE", f"{target}/good")).status == 404
    entry = await logged(front, done.header("x-request-id") or "")
    changes = (await front.data("GET", f"/api/operation-log/{entry['id']}"))["changes"]
    assert {"provider", "roles"} <= {each["field"] for each in changes}


async def test_nobody_unlinks_who_holds_more_or_oneself_as_an_administrator(
    front: Inside, browser: Browser
) -> None:
    heron, _ = await linked(front, browser, "system:file:list")
    resetter = await member(front, f"x{browser.provider.subject}", "system:user:factor")
    refused = await resetter.ask("DELETE", f"/api/user/{heron.user_id}/origins/good")
    assert (refused.status, refused.json["required"]) == (403, ["system:file:list"])
    values = ("good", browser.provider.url, f"x{browser.provider.subject}", resetter.user_id, False)
    await query(front, KNOWN, *values)
    itself = await resetter.ask("DELETE", f"/api/user/{resetter.user_id}/origins/good")
    assert (itself.status, itself.json["layer"]) == (409, "account")


async def test_what_a_directory_manages_is_shown_and_not_unlinked(front: Inside, browser: Browser) -> None:
    heron = await member(front, f"m{browser.provider.subject}")
    await query(front, KNOWN, "okta", "", f"o{heron.user_id}", heron.user_id, True)
    assert (await front.data("GET", f"/api/user/{heron.user_id}"))["directory"] == "okta"
    refused = await front.ask("DELETE", f"/api/user/{heron.user_id}/origins/okta")
    assert (refused.status, refused.json["rule"], refused.json["directory"]) == (409, "directory", "okta")
    refused = await heron.ask("DELETE", f"{OWN}/okta")
    assert (refused.status, refused.json["directory"]) == (409, "okta")
    [origin] = (await heron.ask("GET", OWN)).json["data"]["items"]
    assert (origin["managed"], origin["provider"]) == (True, False)
