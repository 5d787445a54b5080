"""The front end of docs/examples/orders-front-end, built as its readers do, and walked in a browser."""

import shutil
import subprocess
import threading
from collections.abc import Iterator
from functools import partial
from http.server import ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Page, expect

import dev
from service.features.embedded.stores import EmbeddedStores
from tests.console.house import House
from tests.console.test_client import Quiet
from tests.console.visits import new_context
from tests.docs.blocks import blocks
from tests.support.chromium import chromium
from tests.support.left_out import NO_NODE
from tests.support.seeded import ADMINISTRATOR, ADMINISTRATOR_PASSWORD

pytestmark = pytest.mark.extended

EXAMPLES = dev.ROOT / "docs" / "examples"
SOURCES = EXAMPLES / "orders-front-end"
CLIENT = dev.ROOT / "service" / "console" / "client"
INITIAL = "six stubborn otters"


def built(folder: Path, url: str) -> Path:
    """Build the pages for the service at ``url`` by the README; skips the test where Node is missing."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.skip(NO_NODE)
    project = folder / SOURCES.relative_to(dev.ROOT)
    without = shutil.ignore_patterns("node_modules", "dist")
    for place in (SOURCES, CLIENT):
        shutil.copytree(place, folder / place.relative_to(dev.ROOT), ignore=without)
    install = [block.text for block in blocks(SOURCES / "README.md") if block.mark.startswith("run by")]
    made = subprocess.run(
        ["bash", "-e", "-c", "".join([*install, "npm run build"])],
        cwd=project,
        env=dev.environment_of_npm() | {"VITE_PORTCULLIS_URL": url},
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stdout + made.stderr
    kept = {path.name: path.read_bytes() for path in SOURCES.glob("*.json")}
    assert {path.name: path.read_bytes() for path in project.glob("*.json")} == kept
    return project / "dist"


@pytest.fixture(scope="module")
def page(
    stores: EmbeddedStores, published_template: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[House, Page]]:
    chromium()
    folder = tmp_path_factory.mktemp("front-end")
    (folder / "served").mkdir()
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder / "served")))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    origin = f"http://127.0.0.1:{server.server_port}"
    house = House(
        stores,
        published_template,
        PORTCULLIS_SERVER__CORS_ORIGINS=origin,
        PORTCULLIS_PASSWORD__INITIAL="true",
        PORTCULLIS_EXTENSIONS=str(EXAMPLES / "orders-admin" / "orders_admin"),
    )
    try:
        shutil.copytree(built(folder, house.url), folder / "served", dirs_exist_ok=True)
        with new_context(house, origin) as context:
            yield house, context.new_page()
    finally:
        house.end()
        server.shutdown()
        server.server_close()


def sign_in(page: Page, name: str, password: str = ADMINISTRATOR_PASSWORD) -> None:
    page.goto("/")
    fill_in(page, name, password)


def fill_in(page: Page, name: str, password: str = ADMINISTRATOR_PASSWORD) -> None:
    """Sign in by the form that is shown."""
    page.get_by_label("User name").fill(name)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()


def clerk(house: House) -> tuple[int, int]:
    """Make a user who may list orders and files; return the ids of the user and of the role."""
    role = {
        "roleName": "Clerks",
        "roleCode": "clerks",
        "permissions": ["orders:order:read", "system:file:list"],
    }
    made = house.api.post("/api/role", json=role)
    assert made.status_code == 201, made.text
    role_id = made.json()["data"]["id"]
    user = {
        "userName": "clerk",
        "nickName": "Carla",
        "password": INITIAL,
        "roleIds": [role_id],
    }
    return house.api.post("/api/user", json=user).json()["data"]["id"], role_id


def changes_the_password(house: House) -> None:
    """Change the password of the clerk, as the console does."""
    given = {"userName": "clerk", "password": INITIAL}
    token = httpx.post(f"{house.url}/api/auth/login", json=given).json()["data"]["accessToken"]
    answer = httpx.put(
        f"{house.url}/api/user/profile/password",
        json={"currentPassword": INITIAL, "newPassword": ADMINISTRATOR_PASSWORD},
        headers={"Authorization": f"Bearer {token}"},
    )
    assert answer.status_code == 200, answer.text


def view(tab: Page, name: str) -> None:
    """Go to a view by the menu."""
    tab.get_by_role("navigation").get_by_role("button", name=name).click()
    expect(tab.get_by_role("heading", name=name)).to_be_visible()


def test_the_example_signs_in_shows_what_may_be_done_steps_up_and_moves_files(
    page: tuple[House, Page],
) -> None:
    house, tab = page
    # The administrator has changed the first password: the role super has all Menus.
    house.execute('UPDATE sys."user" SET password_initial = NULL')
    sign_in(tab, ADMINISTRATOR)
    view(tab, "Orders")
    tab.get_by_role("button", name="Sign out").click()
    number, role_id = clerk(house)
    button = partial(tab.get_by_role, "button")
    sign_in(tab, "clerk", "wrong")
    expect(tab.get_by_role("alert")).to_have_text("The user name or the password is wrong.")
    sign_in(tab, "clerk", INITIAL)
    expect(tab.get_by_role("alert")).to_contain_text(f"Change it at {house.url}/console")
    changes_the_password(house)
    sign_in(tab, "clerk")
    expect(tab.get_by_text("Carla")).to_be_visible()
    view(tab, "Orders")
    expect(button(name="Enter")).to_have_count(0)
    # Other rights: the next request refreshes, and the buttons follow.
    everything = {"menuType": "Button", "title": "All of orders", "authMark": "orders:*"}
    assert house.api.post("/api/menu", json=everything).status_code == 201
    files = [f"system:file:{act}" for act in ("list", "upload", "download", "delete")]
    more = {"permissions": ["orders:*", *files]}
    assert house.api.patch(f"/api/role/{role_id}", json=more).status_code == 200
    view(tab, "Files")
    view(tab, "Orders")
    tab.get_by_label("Number").fill("2026-0017")
    tab.get_by_label("Customer").fill("Ada")
    button(name="Enter").click()
    expect(tab.get_by_role("cell", name="Ada")).to_be_visible()
    # A second tab needs no login.
    other = tab.context.new_page()
    other.goto("/")
    expect(other.get_by_text("Carla")).to_be_visible()
    other.close()
    moves_a_file(tab)
    recovery = steps_up(house, tab, number)
    # The session is ended by an administrator; a login with the second factor goes on where it was.
    assert house.api.delete(f"/api/online/{number}").status_code == 200
    other = tab.context.new_page()
    other.goto("/")
    expect(other.get_by_role("heading", name="Sign in")).to_be_visible()
    other.close()
    view(tab, "Files")
    fill_in(tab, "clerk")
    tab.get_by_label("Code of your app").fill(recovery)
    button(name="Sign in").click()
    expect(tab.get_by_text("Upload")).to_be_visible()
    button(name="Sign out").click()
    expect(tab.get_by_role("heading", name="Sign in")).to_be_visible()


def moves_a_file(tab: Page) -> None:
    view(tab, "Files")
    note = {"name": "note.txt", "mimeType": "text/plain", "buffer": b"a note"}
    tab.get_by_label("Upload").set_input_files(note)  # type: ignore[arg-type]
    with tab.expect_download() as fetched:
        tab.get_by_role("button", name="Download note.txt").click()
    assert fetched.value.suggested_filename == "note.txt"
    assert Path(fetched.value.path()).read_bytes() == b"a note"
    tab.get_by_role("button", name="Delete note.txt").click()
    expect(tab.get_by_role("button", name="Delete note.txt")).to_have_count(0)


def steps_up(house: House, tab: Page, number: int) -> str:
    """Delete an order, which demands two factors; return a recovery code that is left."""
    listed = house.api.get("/api/resource/list", params={"resourceCode": "orders.delete"})
    (resource,) = listed.json()["data"]["items"]
    demanded = {"assurance": "two-factors"}
    assert house.api.patch(f"/api/resource/{resource['id']}", json=demanded).status_code == 200
    house.enrol("clerk")
    view(tab, "Orders")
    delete = tab.get_by_role("button", name="Delete 2026-0017")
    delete.click()
    asked = tab.get_by_role("dialog", name="Confirm that it is you")
    expect(asked).to_be_visible()
    # Another tab signs out; who signs in again is asked anew.
    other = tab.context.new_page()
    other.goto("/")
    other.get_by_role("button", name="Sign out").click()
    expect(tab.get_by_role("heading", name="Sign in")).to_be_visible()
    other.close()
    assert house.api.delete(f"/api/user/{number}/factors").status_code == 200
    fill_in(tab, "clerk")
    _, (used, left, *_) = house.enrol("clerk")
    view(tab, "Orders")
    delete.click()
    asked.get_by_role("combobox").select_option("recovery_code")
    asked.get_by_label("Recovery code", exact=True).fill(used)
    asked.get_by_role("button", name="Confirm").click()
    expect(tab.get_by_role("cell", name="Ada")).to_have_count(0)
    return left
