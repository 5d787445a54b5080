"""Agents in a browser: a person delegates, approves a call, and ends the delegation."""

import httpx
from playwright.sync_api import expect

from tests.console.acts import button, headed, row, says
from tests.console.conftest import _closed, house, visit, visitor
from tests.console.house import House
from tests.console.visits import Visit
from tests.console.walks import Walk
from tests.features.agents.conftest import DELEGATION, DELEGATIONS, EXCHANGE

__all__ = ["_closed", "house", "visit", "visitor"]  # fixtures

LIST = "system:role:list"
UPDATE = "system:user:update"
HIDDEN = "a\u202eb"


def agent_of(house: House, name: str, *codes: str) -> tuple[int, str]:
    """Make an agent that holds ``codes``, and return its number and its API key."""
    number = house.member(name, *codes)
    house.execute("UPDATE sys.user SET kind = 'service', password_hash = NULL WHERE id = %s", number)
    house.send("PUT", f"/api/agent/{number}", {"ownerId": 1})
    order = {"name": "agent", "scopes": None, "expiresIn": 3600}
    return number, house.send("POST", f"/api/user/{number}/keys", order)["key"]


def token_of(house: House, name: str, key: str, delegation: str) -> str:
    """Return a token with which the agent acts."""
    form = {
        "grant_type": EXCHANGE,
        "client_id": name,
        "client_secret": key,
        "subject_token": delegation,
        "subject_token_type": DELEGATION,
    }
    answer = httpx.post(f"{house.url}/oauth/token", data=form, trust_env=False)
    assert answer.status_code == 200, answer.text
    token: str = answer.json()["access_token"]
    return token


def sent(house: House, token: str, method: str, path: str, body: object = None) -> httpx.Response:
    """Return the answer to a call of an agent."""
    headers = {"Authorization": f"Bearer {token}"}
    return httpx.request(method, house.url + path, json=body, headers=headers, trust_env=False)


def test_a_person_opens_the_link_of_a_call_and_allows_it_once(visit: Visit, house: House) -> None:
    agent, key = agent_of(house, "asking-agent", UPDATE)
    house.member("asked", UPDATE)
    house.member("renamed")
    order = {"agentId": agent, "codes": [UPDATE], "askMe": [UPDATE]}
    order |= {"services": ["portcullis"], "expiresIn": 3600}
    made = house.ask("asked", "POST", DELEGATIONS, order).json()["data"]
    token = token_of(house, "asking-agent", key, str(made["id"]))
    path, body = f"/api/user/{house.user('renamed')['id']}", {"nickName": "New"}
    asked = sent(house, token, "PATCH", path, body).json()
    assert asked["code"] == "approval_required"
    other = sent(house, token, "PATCH", path, {"nickName": HIDDEN}).json()
    page = visit.open(asked["link"].partition("#")[2], "Call of asking-agent", "asked")
    main = page.get_by_role("main")
    says(main, f"PATCH {path}", '{"nickName":"New"}', "Delegation ends")
    visit.axe()
    button(page, "Allow once").click()
    headed(page, "Approvals")
    expect(page.get_by_text("The call was allowed.")).to_be_visible()
    assert [sent(house, token, "PATCH", path, body).status_code for _ in range(2)] == [200, 403]
    visit.show(asked["link"].partition("#")[2], "No such call waits")
    expect(main.get_by_role("button")).to_have_count(0)
    # A character that is not seen is shown as an escape.
    visit.show(other["link"].partition("#")[2], "Call of asking-agent")
    says(main, r"a\u202Eb")
    button(page, "Refuse").click()
    headed(page, "Approvals")
    refused = sent(house, token, "PATCH", path, {"nickName": HIDDEN})
    assert refused.status_code == 403
    visit.show(refused.json()["link"].partition("#")[2], "Call of asking-agent")
    button(page, "Allow until the delegation ends").click()
    button(page.get_by_role("dialog"), "Allow until the delegation ends").click()
    headed(page, "Approvals")
    answers = [sent(house, token, "PATCH", path, {"nickName": HIDDEN}) for _ in range(2)]
    assert not {answer.json().get("code") for answer in answers} & {"approval_required", "permission_denied"}


def test_an_agent_acts_for_two_hours_after_eight_clicks(visit: Visit, house: House) -> None:
    _, key = agent_of(house, "two-hours", LIST)
    house.member("delegator", LIST, "system:menu:list")
    page = visit.page
    visit.sign_in("delegator")
    walk = Walk(page, keys=False)
    walk.act(page.locator(".menu summary"))
    walk.act(page.get_by_role("link", name="Agents that act for you"))
    headed(page, "Agents that act for you")
    agents = page.get_by_role("combobox", name="Agent", exact=True)
    walk.act(agents)
    agents.select_option(label="two-hours (owner: admin)")
    walk.check(page.get_by_role("checkbox", name=LIST))
    walk.act(button(page, "Let an agent act for you"))
    number = page.get_by_role("textbox", name="Number")
    expect(number).to_be_focused()
    walk.took(8)
    shown = row(page, "two-hours")
    says(shown, LIST, "Never", "in 2 hours")
    token = token_of(house, "two-hours", key, number.input_value())
    assert sent(house, token, "GET", "/api/role/list").status_code == 200
    assert sent(house, token, "GET", "/api/menu/list").status_code == 403
    visit.axe()
    button(shown, "End: two-hours").click()
    button(page.get_by_role("dialog", name="End the delegation to two-hours?"), "End").click()
    expect(page.get_by_text("The delegation to two-hours was ended.")).to_be_visible()
    expect(shown).to_have_count(0)
    assert sent(house, token, "GET", "/api/role/list").status_code == 401
