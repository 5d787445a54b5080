"""What every page of the console keeps to, also where there are thousands of records."""

import re
from typing import Final

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


def test_signing_in_shows_the_address_that_was_asked_for(visit: Visit) -> None:
    visit.sign_in_by_hand(address="/?from=here")
    assert visit.page.url.endswith("#/?from=here")
    visit.axe()


def test_the_navigation_is_the_consoles_own_and_shows_what_the_caller_may_see(
    visit: Visit, house: House
) -> None:
    # Menus that lead nowhere in the console, and hide nothing of it.
    body = {"menuType": "Menu", "title": "Elsewhere", "path": "/users", "name": "user"}
    menu = house.api.post("/api/menu", json=body).json()["data"]["id"]
    house.member("steward", "system:role:list", "system:resource:list", "system:doctor:read")
    page = visit.page
    visit.sign_in("steward")
    navigation = page.get_by_role("navigation", name="Main navigation")
    assert navigation.get_by_role("list", name="Access").get_by_role("link").all_inner_texts() == [
        *("Roles", "Requests", "Reviews"),
    ]
    endpoints = navigation.get_by_role("list", name="Endpoints").get_by_role("link")
    assert endpoints.all_inner_texts() == ["Resources"]
    expect(navigation.get_by_role("list", name="Activity")).to_have_count(0)
    findings = house.api.get("/api/system/findings").json()["data"]["items"]
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
        assert house.api.get(api.get_attribute("href") or "").status_code == 200
    visit.axe()
    assert house.api.delete(f"/api/menu/{menu}").status_code == 200


MODULES: Final = """
const base = document.querySelector("script[type=module]").src;
const { tree, searching } = await import(new URL("parts/tree.js", base));
const { side } = await import(new URL("parts/preview.js", base));
"""
TREE: Final = """async () => {
  MODULES
  const leaves = Array.from({ length: 1000 }, (_, id) =>
    ({ id: id + 1, title: `Leaf ${id + 1}`, below: [] }));
  const shown = tree({ name: "All", roots: [{ id: 0, title: "Root", below: leaves }], open: new Set(),
    children: ({ below }) => below, label: ({ title }) => title });
  const search = searching(shown, "Search", ({ title }, wanted) => title.toLowerCase().includes(wanted));
  const field = search.querySelector("input");
  return ["leaf", "leaf 99", "none"].map((wanted) => {
    field.value = wanted;
    field.dispatchEvent(new Event("input"));
    return [shown.querySelectorAll("[role=treeitem]").length, search.textContent];
  });
}"""
PREVIEW: Final = """async () => {
  MODULES
  const access = Array.from({ length: 1000 }, (_, id) => `GET /thing/${id}`);
  const shown = side("Gain access", [{ roleCode: "one", users: 3, access }, { roleCode: "two", users: 1, access: [], total: 7 }], "good");
  const lists = () => [...shown.querySelectorAll("details")].map((one) => [one.querySelectorAll("li").length, one.querySelector("p")?.textContent]);
  const folded = lists();
  document.body.append(shown);
  for (const one of shown.querySelectorAll("details")) {
    one.open = true;
    await new Promise((resolve) => { one.addEventListener("toggle", resolve, { once: true }); });
  }
  return [shown.textContent.includes("1,000 endpoints"), folded, lists()];
}"""  # noqa: E501 - a line of a script


KEYED: Final = """async () => {
  const base = document.querySelector("script[type=module]").src;
  const { keyed, h } = await import(new URL("core/dom.js", base));
  const list = h("ul");
  document.querySelector("main").append(list);
  const show = (...items) => keyed(list, items, ({ id }) => id,
    ({ text }) => h("li", null, h("input", { "aria-label": text })));
  show({ id: 1, text: "a" }, { id: 2, text: "b" }, { id: 3, text: "c" });
  const [first, second, third] = list.children;
  const field = second.firstChild;
  field.value = "typed";
  field.focus();
  field.setSelectionRange(1, 3);
  show({ id: 4, text: "d" }, { id: 2, text: "b" }, { id: 3, text: "c", version: 2 }, { id: 1, text: "a" });
  return [[...list.children].map((row) => row.firstChild.getAttribute("aria-label")).join(""),
    document.activeElement === field, field.value, field.selectionStart, field.selectionEnd,
    list.contains(first), list.contains(third)];
}"""


def test_a_row_that_is_the_same_keeps_focus_and_selection_and_a_changed_one_is_new(visit: Visit) -> None:
    visit.sign_in()
    assert visit.page.evaluate(KEYED) == ["dbca", True, "typed", 1, 3, True, False]


def test_a_search_in_a_tree_shows_its_first_rows_and_says_so(visit: Visit) -> None:
    visit.sign_in()

    many, few, none = visit.page.evaluate(TREE.replace("MODULES", MODULES))

    assert many == [300, "There are more results: only the first 300 rows are shown."]
    assert few == [12, ""]  # Leaf 99, Leaf 990 to 999, and the root above them
    assert none == [0, ""]


def test_what_a_role_gains_is_listed_when_it_is_unfolded_and_cut(visit: Visit) -> None:
    visit.sign_in()

    counted, folded, unfolded = visit.page.evaluate(PREVIEW.replace("MODULES", MODULES))

    assert counted
    assert folded == [[0, None], [0, None]]
    assert unfolded == [[200, "and 800 more"], [0, "and 7 more"]]
