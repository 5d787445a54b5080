"""The installation: what its checks find, and its jobs."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.console.house import House
from tests.console.visits import Visit


def test_findings_are_shown_to_those_who_may_see_them_and_a_job_is_run_and_paused(
    visit: Visit, house: House
) -> None:
    house.member("operator", "system:doctor:read", "system:job:list", "system:job:run", "system:job:update")
    visit.sign_in("operator")
    page = visit.page
    checks = page.get_by_role("link", name="All checks")
    expect(checks).to_be_visible()
    visit.picture("home")
    checks.click()
    expect(page.get_by_role("heading", name="Checks of the installation")).to_be_visible()
    expect(page.get_by_role("listitem").filter(has_text="session store")).not_to_have_count(0)
    visit.axe()
    visit.picture("doctor")
    page.evaluate("location.hash = '/jobs'")
    page.get_by_role("button", name="Pause: file-sweep").click()
    expect(page.get_by_role("button", name="Resume: file-sweep")).to_be_focused()
    page.get_by_role("button", name="Run now: file-sweep").click()
    expect(page.get_by_role("status").get_by_text("file-sweep runs now")).to_be_visible()
    visit.axe()
    visit.picture("jobs")
    (job,) = [
        entry for entry in house.api.get("/api/jobs").json()["data"]["items"] if entry["name"] == "file-sweep"
    ]
    assert job["paused"]
    assert job["requestedBy"] == "operator" or job["runs"][0]["userName"] == "operator"
    page.get_by_role("button", name="Resume: file-sweep").click()
    expect(page.get_by_role("button", name="Pause: file-sweep")).to_be_visible()
