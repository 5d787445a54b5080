"""Python and TypeScript clients, generated or typed by default options, call the running service."""

import io
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tests.consumers import python_scenarios
from tests.consumers.node_tools import SOURCES, NodeTools, installed
from tests.consumers.python_scenarios import SCENARIOS, type_errors
from tests.support.running import Running
from tests.support.seeded import ADMINISTRATOR, ADMINISTRATOR_PASSWORD
from tests.support.without import is_served

PACKAGE = "portcullis_api_client"
ACCEPTED = {
    # Users and roles are imported as JSON by this client; its generator knows no bodies of text.
    f"parsing POST /api/{name}/import within {name}: Unsupported content type {kind}"
    for name in ("user", "role")
    for kind in (
        "text/csv",
        "application/jsonl",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    )
    if is_served(f"POST /api/{name}/import")
}

"""What the generator warns of, with the reason why it stays."""
PASSWORD = "three wary herons"
# The generator, which copies an operation with all the models it refers to in order to sort its parameters:
# that takes as long as all the rest, and a copy of the operation alone does as well.
GENERATOR = """
import copy, gc
from openapi_python_client import cli
from openapi_python_client.parser import openapi
assert openapi.deepcopy is copy.deepcopy
openapi.deepcopy = copy.copy
gc.disable()
cli.app()
"""


@dataclass(frozen=True)
class Generated:
    """The generated package, the folder that it is in, and what its generator said."""

    output: str
    folder: Path

    def model(self, name: str) -> Any:
        """Return a class of the package."""
        return getattr(import_module(f"{PACKAGE}.models"), name)

    def type(self, name: str) -> Any:
        """Return a helper of the package, such as the class of clients."""
        return getattr(import_module(PACKAGE), name, None) or getattr(import_module(f"{PACKAGE}.types"), name)

    def call(self, operation: str, client: Any, *path: Any, **named: Any) -> Any:
        """Call an operation, ``tag.name``, and return what it answers, status and headers included."""
        module = import_module(f"{PACKAGE}.api.{operation}")
        return module.sync_detailed(*path, client=client, **named)


@pytest.fixture(scope="module")
def generated(service: Running, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Generated]:
    folder = tmp_path_factory.mktemp("client")
    source = ("--url", f"{service.url}/docs/openapi.json")
    tools = Path(sys.executable).parent  # the generator runs ruff
    ended = subprocess.run(
        [sys.executable, "-P", "-c", GENERATOR, "generate", *source, "--output-path", folder / "made"],
        env=os.environ | {"PATH": f"{tools}:{os.environ['PATH']}", "NO_PROXY": "127.0.0.1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder / "made")
        yield Generated(ended.stdout + ended.stderr, folder / "made")
    for name in [name for name in sys.modules if name.partition(".")[0] == PACKAGE]:
        del sys.modules[name]


@pytest.fixture(scope="module")
def open_clients() -> Iterator[ExitStack]:
    """Closes the clients of the tests."""
    with ExitStack() as stack:
        yield stack


@pytest.fixture(scope="module")
def api(service: Running, generated: Generated, open_clients: ExitStack) -> Any:
    """A client without a token."""
    return open_clients.enter_context(generated.type("Client")(base_url=service.url))


Authenticated = Callable[[Any], Any]


@pytest.fixture(scope="module")
def authenticated(service: Running, generated: Generated, open_clients: ExitStack) -> Authenticated:
    """Return the client that sends the access token of a pair."""
    made = partial(generated.type("AuthenticatedClient"), base_url=service.url)
    return lambda pair: open_clients.enter_context(made(token=pair.access_token))


def tokens_of(generated: Generated, api: Any, name: str, password: str) -> Any:
    body = generated.model("Credentials")(user_name=name, password=password)
    answer = generated.call("auth.log_in", api, body=body)
    assert answer.status_code == 200
    return answer.parsed.data


@pytest.fixture(scope="module")
def admin(generated: Generated, api: Any, authenticated: Authenticated) -> Any:
    """A client of the administrator."""
    return authenticated(tokens_of(generated, api, ADMINISTRATOR, ADMINISTRATOR_PASSWORD))


def test_the_generator_warns_of_nothing_that_is_not_listed(generated: Generated) -> None:
    warnings = re.findall(r"^(WARNING|ERROR) (.+?)\.?\n\n(.+)$", generated.output, re.MULTILINE)
    heard = {f"{where}: {what}" for _, where, what in warnings}
    # It makes no answer of an archive: who downloads evidence takes the bytes.
    archives = {each for each in heard if "(Unsupported content_type application/zip)" in each}
    assert [each.partition(" within ")[0] for each in archives] == ["parsing GET /api/review/{id}/evidence"]
    assert heard - archives == ACCEPTED
    assert len(warnings) == len(re.findall("warning |error |skipping ", generated.output, re.IGNORECASE))


def test_a_fault_has_a_code_and_parameters(generated: Generated, admin: Any) -> None:
    body = generated.model("UserBody")(user_name="brief", nick_name="Brief", password="brief")
    (fault,) = generated.call("user.create_user", admin, body=body).parsed.errors
    assert (fault.field, fault.code, fault.params["least"]) == ("password", "too_short", 8)


def test_users_are_listed_and_created_and_a_name_is_given_once(generated: Generated, admin: Any) -> None:
    listed = generated.call("user.list_users", admin)
    assert [user.user_name for user in listed.parsed.data.items] == [ADMINISTRATOR]
    assert listed.parsed.data.items[0].status is generated.model("UserStatus").ENABLED

    body = generated.model("UserBody")(user_name="heron", nick_name="Heron", password=PASSWORD)
    made = generated.call("user.create_user", admin, body=body)
    assert (made.status_code, made.parsed.data.user_name) == (201, "heron")

    again = generated.call("user.create_user", admin, body=body)
    assert isinstance(again.parsed, generated.model("ConflictProblem"))
    assert (again.status_code, again.parsed.field) == (409, "userName")


def test_a_user_gets_the_rights_of_a_role_that_is_assigned(
    generated: Generated, admin: Any, api: Any, authenticated: Authenticated
) -> None:
    new = generated.model("UserBody")(user_name="egret", nick_name="Egret", password=PASSWORD)
    user = generated.call("user.create_user", admin, body=new).parsed.data
    pair = tokens_of(generated, api, "egret", PASSWORD)
    egret = authenticated(pair)

    denied = generated.call("user.list_users", egret)
    assert denied.status_code == 403
    assert isinstance(denied.parsed, generated.model("PermissionDeniedProblem"))
    assert denied.parsed.layer is generated.model("DecisionLayer").RESOURCE
    assert denied.parsed.required == ["system:user:list"]
    assert denied.parsed.needed is generated.model("Needed").ANY

    role = generated.call(
        "role.create_role",
        admin,
        body=generated.model("NewRole")(role_code="lister", role_name="Lister"),
    ).parsed.data
    given = generated.call(
        "role.set_role_permissions",
        admin,
        role.id,
        body=generated.model("RoleMenusEdit")(permissions=["system:user:list"]),
    )
    assert given.status_code == 200
    read = generated.call("user.get_user", admin, user.id)
    assigned = generated.call(
        "user.patch_user",
        admin,
        user.id,
        body=generated.model("UserPatch")(role_ids=[role.id]),
        if_match=read.headers["ETag"],
    )
    assert assigned.status_code == 200

    outdated = generated.call("user.list_users", egret)
    assert outdated.status_code == 401
    assert isinstance(outdated.parsed, generated.model("RefreshRequiredProblem"))
    spent = generated.model("RefreshToken")(refresh_token=pair.refresh_token)
    renewed = generated.call("auth.refresh_tokens", api, body=spent)
    assert renewed.status_code == 200
    now = authenticated(renewed.parsed.data)
    assert generated.call("user.list_users", now).status_code == 200

    slower = generated.call("auth.refresh_tokens", api, body=spent)
    assert slower.status_code == 401
    assert slower.parsed.reason is generated.model("RefreshRejection").SUPERSEDED


def test_a_file_is_uploaded_and_downloaded(generated: Generated, admin: Any) -> None:
    content = b"%PDF-1.7\n" + bytes(range(256))
    file = generated.type("File")(
        payload=io.BytesIO(content), file_name="report.pdf", mime_type="application/pdf"
    )
    sent = generated.call("file.upload_file", admin, body=generated.model("UploadForm")(file=file))
    assert (sent.status_code, sent.parsed.data.size) == (201, len(content))
    got = generated.call("file.download_file", admin, sent.parsed.data.id)
    assert got.status_code == 200
    assert got.parsed.payload.read() == content
    assert 'filename="report.pdf"' in got.headers["Content-Disposition"]


def test_a_list_is_paged_through(generated: Generated, admin: Any) -> None:
    ids: list[str] = []
    page = 1
    while True:
        data = generated.call("menu.list_menus", admin, page=page, size=10).parsed.data
        ids += [menu.id for menu in data.items]
        if page * data.size >= data.total:
            break
        page += 1
    assert len(ids) == len(set(ids)) == data.total > 20


def test_a_long_list_is_continued_by_its_cursor(generated: Generated, admin: Any, api: Any) -> None:
    stork = generated.model("UserBody")(user_name="stork", nick_name="Stork", password=PASSWORD)
    assert generated.call("user.create_user", admin, body=stork).status_code == 201
    tokens_of(generated, api, "stork", PASSWORD)
    first = generated.call("online.list_online_users", admin, size=1).parsed.data
    assert (len(first.items), first.total > 1) == (1, True)
    second = generated.call("online.list_online_users", admin, size=1, cursor=first.next_cursor).parsed.data
    assert second.items[0].login_id != first.items[0].login_id


@pytest.mark.extended
def test_a_scenario_in_python_is_typed_and_runs(service: Running, generated: Generated) -> None:
    scenario = (SCENARIOS / "openapi_python_client.py").read_text()
    assert type_errors(scenario, generated.folder) == ""
    ended = python_scenarios.run(service, generated.folder)
    assert ended.returncode == 0, ended.stderr


_RUN = """
import { scenario } from "./scenario.js";
await scenario(...process.argv.slice(2));
"""


@pytest.fixture(scope="module")
def node() -> NodeTools:
    return installed()


@pytest.fixture
def project(node: NodeTools, tmp_path: Path) -> Path:
    """A project as ``tsc --init`` makes it, with the packages."""
    (tmp_path / "node_modules").symlink_to(node.modules)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    made = node.run("tsc", "--init", cwd=tmp_path)
    assert made.returncode == 0, made.stdout
    return tmp_path


@pytest.mark.extended
def test_a_scenario_compiles_with_the_generated_types_and_runs(
    service: Running, node: NodeTools, project: Path
) -> None:
    generated = node.run(
        "openapi-typescript", f"{service.url}/docs/openapi.json", "--output", "api.d.ts", cwd=project
    )
    assert generated.returncode == 0, generated.stderr
    output = generated.stdout + generated.stderr
    assert not [line for line in output.splitlines() if "⚠" in line or "warn" in line.lower()]

    shutil.copy2(SOURCES / "scenario.ts", project)
    compiled = node.run("tsc", cwd=project)
    assert compiled.returncode == 0, compiled.stdout

    (project / "run.js").write_text(_RUN)
    command = ["node", "run.js", service.url, ADMINISTRATOR, ADMINISTRATOR_PASSWORD]
    ended = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr


@pytest.mark.extended
def test_a_misspelt_member_does_not_compile(service: Running, node: NodeTools, project: Path) -> None:
    node.run("openapi-typescript", f"{service.url}/docs/openapi.json", "--output", "api.d.ts", cwd=project)
    text = (SOURCES / "scenario.ts").read_text()
    (project / "scenario.ts").write_text(text.replace("denied.error.layer", "denied.error.level"))
    compiled = node.run("tsc", cwd=project)
    assert compiled.returncode != 0
    assert "Property 'level' does not exist" in compiled.stdout
