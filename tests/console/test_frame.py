"""What every page of the console keeps to, also where there are thousands of records."""

import re

import pytest
from playwright.sync_api import Response, expect

import service
from tests.console.house import House
from tests.console.visits import CONSOLE, Visit
from tests.support.without import is_off

REQUESTS = 22
BYTES = 200_000
TRIED = """async () => {
  const tried = [];
  for (const unsafe of [
    () => { document.createElement("p").innerHTML = "<b>x</b>"; },
    () => { document.body.setAttribute("onclick", "x()"); },
    () => trustedTypes.createPolicy("x", {}),
    () => fetch("http://127.0.0.1:9/"),
  ]) {
    try { await unsafe(); } catch (error) { tried.push(error.name); }
  }
  return tried;
}"""
"""Tries what could run the code of others, or send something to them; returns how it failed."""


@pytest.mark.extended
def test_the_first_load_is_small_and_all_of_it_is_of_one_release(newcomer: Visit) -> None:
    loaded: list[Response] = []

    def note(answer: Response) -> None:
        loaded.append(answer)

    newcomer.hear("response", note)
    newcomer.page.goto(CONSOLE)
    newcomer.page.wait_for_load_state("networkidle")
    files = {answer.url: len(answer.body()) for answer in loaded if "/api/" not in answer.url}
    assert len(files) <= REQUESTS, sorted(files)
    assert sum(files.values()) <= BYTES, files
    releases = {url.partition(f"{CONSOLE}/")[2].partition("/")[0] for url in files}
    assert len(releases - {""}) == 1, releases
    assert len(files) > len(releases)
    again = newcomer.page.reload()
    assert again is not None
    assert again.status == 200  # after 304, from the cache of the browser


def test_text_never_becomes_markup_and_a_page_that_tries_is_noticed(visit: Visit) -> None:
    visit.page.goto(CONSOLE)
    assert visit.page.evaluate(TRIED) == ["TypeError"] * 4
    visit.page.evaluate(
        "() => { setTimeout(() => { console.error('written'); throw new Error('thrown'); }) }"
    )
    visit.page.evaluate("() => { setTimeout(() => Promise.reject(new Error('rejected'))); }")
    visit.page.wait_for_function("() => new Promise((done) => setTimeout(() => done(true), 50))")
    for part in (
        "require-trusted-types-for forbids",
        "trusted-types forbids",
        "connect-src forbids",
        "written",
        "thrown",
        "rejected",
    ):
        assert any(part in trouble for trouble in visit.troubles), (part, visit.troubles)
    visit.expected.append("")  # all of it


def test_no_other_page_can_show_it_in_a_frame(visit: Visit) -> None:
    visit.page.route(
        "**/frame",
        lambda route: route.fulfill(body=f'<iframe src="{CONSOLE}"></iframe>', content_type="text/html"),
    )
    visit.page.goto("/frame")
    expect(visit.page.locator("iframe")).to_have_count(1)
    assert visit.page.frames[-1].url.startswith("chrome-error:")
    visit.expected.append("frame")


def test_the_navigation_shows_what_the_caller_may_see(visit: Visit, house: House) -> None:
    # Menus that lead nowhere in the console, and hide nothing of it.
    body = {"menuType": "Menu", "title": "Elsewhere", "path": "/users", "name": "user"}
    menu = house.make("menu", **body)
    house.member("steward", "system:role:list", "system:resource:list", "system:doctor:read")
    page = visit.page
    visit.sign_in("steward")
    navigation = page.get_by_role("navigation", name="Main navigation")
    assert navigation.get_by_role("list", name="Access").get_by_role("link").all_inner_texts() == [
        *("Roles", "Requests", "Reviews", "Ask for access"),
    ]
    endpoints = navigation.get_by_role("list", name="Endpoints").get_by_role("link")
    assert endpoints.all_inner_texts() == ["Resources"]
    expect(navigation.get_by_role("list", name="Activity")).to_have_count(0)
    findings = house.send("GET", "/api/system/findings")["items"]
    count = sum(finding["state"] != "ok" for finding in findings)
    health = navigation.get_by_role("link", name=re.compile("^System health"))
    expect(health).to_have_accessible_name(f"System health {count} finding{'' if count == 1 else 's'}")
    health.focus()
    health.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("System health")
    expect(health).to_have_attribute("aria-current", "page")
    expect(page.get_by_role("contentinfo")).to_contain_text(f"Version {service.__version__}")
    api = page.get_by_role("contentinfo").get_by_role("link", name="API")
    if is_off("pages"):
        expect(api).to_have_count(0)
    else:
        assert house.api.get(api.get_attribute("href") or "").is_success
    house.send("DELETE", f"/api/menu/{menu}")
