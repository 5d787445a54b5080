"""Files, online users, API keys, checks and jobs: the main journey of each view."""

import re
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import expect

from tests.console.acts import button, follow, row
from tests.console.house import House
from tests.console.visits import Visit

MARKUP = "<img src=x onerror=alert(1)>"


def test_a_file_is_uploaded_shared_downloaded_and_deleted(visit: Visit, house: House, tmp_path: Path) -> None:
    name = f"{MARKUP.replace('/', '')}.txt"
    (tmp_path / name).write_text("what is in it")
    house.member(
        "filer", *(f"system:file:{action}" for action in ("list", "upload", "download", "delete", "share"))
    )
    page = visit.open("/files", name="filer")
    expect(page.get_by_role("heading", level=1)).to_have_text("Files")
    page.locator("input[type=file]").set_input_files(tmp_path / name)
    shown = row(page, name)
    expect(shown).to_be_visible()
    expect(shown).to_contain_text("13 bytes")

    button(page, f"Share: {name}").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Expires after").select_option(label="1 hour")
    button(dialog, "Share").click()
    link = page.get_by_role("textbox", name="The link")
    expect(link).to_have_value(re.compile("/api/public/file/"))
    assert httpx.get(link.input_value(), trust_env=False).text == "what is in it"
    page.keyboard.press("Escape")
    expect(shown).to_contain_text("until ")
    visit.picture("files")

    with page.expect_download() as saved:
        button(page, f"Download: {name}").click()
    assert saved.value.path().read_text() == "what is in it"

    button(page, f"Delete: {name}").click()
    button(page.get_by_role("dialog"), "Delete").click()
    expect(shown).to_have_count(0)
    files = house.send("GET", "/api/file/list")["items"]
    assert name not in [file["name"] for file in files]


def test_a_refused_upload_says_why(visit: Visit, house: House, tmp_path: Path) -> None:
    (tmp_path / "program.exe").write_bytes(b"MZ" + bytes(100))
    house.member("uploader", "system:file:list", "system:file:upload")
    page = visit.open("/files", name="uploader")
    page.locator("input[type=file]").set_input_files(tmp_path / "program.exe")
    alert = page.get_by_role("alert").filter(has_text="415")
    expect(alert).to_be_visible()


@pytest.mark.extended
def test_a_download_from_the_object_store_is_a_link_of_one_minute(visit: Visit, house: House) -> None:
    sent = house.api.post("/api/file", files={"file": ("stored.txt", b"elsewhere")})
    number = sent.json()["data"]["id"]
    house.member("fetcher", "system:file:list", "system:file:download")
    page = visit.page
    store = {"Location": "https://store.example/bucket/object?signature=x"}
    page.context.route(f"**/api/file/{number}", lambda route: route.fulfill(status=307, headers=store))
    visit.sign_in("fetcher", "/files?name=stored.txt")
    button(page, "Download: stored.txt").click()
    expect(page.get_by_role("alert")).to_contain_text("A user who can share files can create a link")

    visit.sign_in(address="/files?name=stored.txt")
    button(page, "Download: stored.txt").click()
    ready = page.get_by_role("dialog", name="Download stored.txt")
    with page.context.expect_event("response", lambda answer: "/api/public/file/" in answer.url) as download:
        ready.get_by_role("link", name="Download").click()
    assert download.value.status == 200
    expect(ready).to_have_count(0)
    shown = row(page, "stored.txt")
    expect(shown).to_contain_text("until ")
    # A link that somebody may have been given ends only when the reader agrees.
    button(page, "Download: stored.txt").click()
    asked = page.get_by_role("dialog", name="Revoke the public link of stored.txt?")
    button(asked, "Cancel").click()
    assert httpx.get(download.value.url, trust_env=False).content == b"elsewhere"
    button(page, "Download: stored.txt").click()
    button(asked, "Revoke the link and download").click()
    expect(ready.get_by_role("link", name="Download")).to_be_focused()
    assert httpx.get(download.value.url, trust_env=False).status_code == 404
    house.send("DELETE", f"/api/file/{number}")


def test_a_session_is_ended_and_its_user_banned(visitor: Callable[[], Visit], house: House) -> None:
    house.member("guard", "system:online:list", "system:online:kick", "system:online:ban")
    house.member("trespasser")
    seen, kicked = visitor(), visitor()
    kicked.sign_in("trespasser")
    seen.sign_in("guard", "/online?userName=trespasser")
    row = seen.page.get_by_role("row").filter(has_text="trespasser")
    expect(row).to_have_count(1)
    seen.picture("online")
    row.get_by_role("button", name="End: trespasser").click()
    button(seen.page, "End the session").click()
    expect(row).to_have_count(0)
    kicked.page.goto("/console#/account/devices")
    expect(kicked.page.get_by_label("User name")).to_be_visible()

    other = visitor()
    other.sign_in("trespasser")
    button(seen.page, "Refresh").click()
    row.get_by_role("button", name="Ban: trespasser").click()
    dialog = seen.page.get_by_role("dialog")
    dialog.get_by_label("For").select_option(label="1 hour")
    dialog.get_by_label("Reason").fill(MARKUP)
    button(dialog, "Ban this user").click()
    expect(row).to_have_count(0)
    assert house.user("trespasser")["ban"]["reason"] == MARKUP


@pytest.mark.extended
def test_a_key_is_made_shown_once_works_and_is_deleted(visit: Visit, house: House) -> None:
    number = house.make("user", userName="nightly", nickName="Nightly", kind="service")
    page = visit.open(f"/users/{number}/keys")
    button(page, "Create a key").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("job")
    dialog.get_by_label("Limited to").fill("system:user:list\nsystem:role:list")
    button(dialog, "Create a key").click()
    key = page.get_by_role("textbox", name="New key").input_value()
    headers = {"Authorization": f"Bearer {key}"}
    info = f"{house.url}/api/user/info"
    assert httpx.get(info, headers=headers, trust_env=False).json()["data"]["userName"] == "nightly"
    page.keyboard.press("Escape")
    shown = row(page, "job")
    expect(shown).to_contain_text("system:role:list, system:user:list")
    assert key not in page.content()
    visit.picture("keys")
    button(shown, "Delete: job").click()
    button(page.get_by_role("dialog"), "Delete").click()
    expect(shown).to_have_count(0)
    assert httpx.get(info, headers=headers, trust_env=False).status_code == 401


@pytest.mark.extended
def test_findings_are_shown_and_a_job_is_run_and_paused(visit: Visit, house: House) -> None:
    house.member("operator", "system:doctor:read", "system:job:list", "system:job:run", "system:job:update")
    page = visit.open("/", name="operator")
    follow(page, "All checks", "System health")
    expect(page.get_by_role("listitem").filter(has_text="session store")).not_to_have_count(0)
    visit.picture("doctor")
    page.evaluate("location.hash = '/jobs'")
    button(page, "Pause: file-sweep").click()
    expect(page.get_by_role("button", name="Resume: file-sweep")).to_be_focused()
    button(page, "Run now: file-sweep").click()
    expect(page.get_by_role("status").get_by_text("Job file-sweep is running")).to_be_visible()
    visit.picture("jobs")
    (job,) = [entry for entry in house.send("GET", "/api/jobs")["items"] if entry["name"] == "file-sweep"]
    assert job["paused"]
    assert job["requestedBy"] == "operator" or job["runs"][0]["userName"] == "operator"
    button(page, "Resume: file-sweep").click()
    expect(page.get_by_role("button", name="Pause: file-sweep")).to_be_visible()
