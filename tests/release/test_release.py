"""A release, installed into empty environments of the oldest and the newest Python of this machine."""

import json
import os
import re
import shutil
import signal
import subprocess
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

import dev
from tests.docs.blocks import parsed
from tests.docs.pages import between
from tests.features.decisions.test_whole_service import GUIDE, MADE
from tests.release.__main__ import different
from tests.release.building import ROOT, build, digests
from tests.release.checking import CLIENT, SERVICE, faults, installed, wheel_of
from tests.support.waiting import eventually

pytestmark = pytest.mark.extended

PASSWORD = "three wary herons"
OLDEST = 11  # of requires-python
TELL = "import sys; print(sys.version_info[1] if sys.version_info[0] == 3 else 0)"
ASK = """
import os, service
from portcullis_client import Portcullis, Resource, Subject

assert service.OURS
with Portcullis(os.environ["URL"], os.environ["KEY"], service="shop") as portcullis:
    for name in ("admin", "nobody-of-this-name"):
        print(portcullis.evaluate(Subject.user(name), "GET", Resource.route("/shop/7")).allowed)
"""


def pythons() -> dict[int, str]:
    """Return the interpreters of this machine that may run the service, by their minor version."""
    names = [f"python3.{minor}" for minor in range(OLDEST, 30)]
    places = [place for name in names if (place := shutil.which(name))]
    places += map(str, sorted(Path.home().glob(".pyenv/versions/3.*/bin/python3")))
    known: dict[int, str] = {}
    for place in places:
        printed = subprocess.run([place, "-c", TELL], capture_output=True, text=True, check=False)
        if printed.returncode == 0 and int(printed.stdout) >= OLDEST:
            known.setdefault(int(printed.stdout), place)
    return known


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The files of a release, each wheel built from its sdist."""
    with dev.only_one():
        dev.run("the packages can't be installed", *dev.installation_of("release", dev.RELEASE_ENVIRONMENT))
    assert dev.docs() == 0
    return build(tmp_path_factory.mktemp("built"), through_sdists=True)


def test_all_is_held_and_two_builds_are_the_same(built: list[Path], tmp_path: Path) -> None:
    assert list(faults(built)) == []
    assert digests(build(tmp_path, through_sdists=False)) == digests(built)


def test_what_is_missing_or_too_much_in_a_wheel_is_noticed(built: list[Path], tmp_path: Path) -> None:
    copies = [Path(shutil.copy(path, tmp_path)) for path in built]
    wheel = wheel_of(copies, SERVICE)
    with zipfile.ZipFile(wheel) as packed:
        contents = {name: packed.read(name) for name in packed.namelist()}
    del contents["service/shipped/model.conf"]
    contents |= {"tests/conftest.py": b"", "service/__pycache__/x.pyc": b""}
    with zipfile.ZipFile(wheel, "w") as packed:
        for name, content in contents.items():
            packed.writestr(name, content)
    assert set(faults(copies)) == {
        f"{wheel.name} lacks service/shipped/model.conf",
        f"{wheel.name} holds service/__pycache__/x.pyc",
        f"{wheel.name} installs portcullis_admin.py, service, tests",
    }
    assert different(digests(built), digests(copies)) == [f"two builds of {wheel.name} differ"]


@pytest.fixture(scope="module", params=["oldest", "newest"])
def programs(
    request: pytest.FixtureRequest, built: list[Path], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The programs of an environment that holds the service alone."""
    known = pythons()
    minor = min(known) if request.param == "oldest" else max(known)
    if request.param == "newest" and minor == min(known):
        pytest.skip("There is one Python on this machine")
    assert request.param != "oldest" or minor == OLDEST
    place = tmp_path_factory.mktemp(request.param)
    return installed(place / "service", wheel_of(built, SERVICE), python=known[minor])


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The project of a user, with a package that is called ``service``."""
    (tmp_path / "shop" / "service").mkdir(parents=True)
    (tmp_path / "shop" / "service" / "__init__.py").write_text("OURS = True\n")
    return tmp_path / "shop"


class Installed:
    """The installed command, run in the folder of a project."""

    def __init__(self, programs: Path, project: Path) -> None:
        self._command, self._project = str(programs / "portcullis"), project
        self._environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(project.parent),
            "PORTCULLIS_ADMIN_PASSWORD": PASSWORD,
            "PORTCULLIS_PASSWORD__INITIAL": "false",
            "PORTCULLIS_SERVER__DATA": str(project.parent / "data"),
            "PORTCULLIS_SERVER__STOP_GRACE": "0",
            "PORTCULLIS_EXTENSIONS": str(ROOT / "docs" / "examples" / "orders-admin" / "orders_admin"),
        }

    def run(self, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self._command, *words],
            cwd=self._project,
            env=self._environment | variables,
            capture_output=True,
            text=True,
            check=False,
        )

    @contextmanager
    def serving(self) -> Iterator[httpx.Client]:
        """Serve on a free port, and stop in order."""
        log = self._project.parent / "log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                [self._command, "serve", "--port", "0", "--workers", "2"],
                cwd=self._project,
                env=self._environment,
                stdout=output,
                stderr=output,
            )
        listening = re.compile(r"listening +(http://127\.0\.0\.1:\d+)")
        try:
            assert eventually(lambda: listening.search(log.read_text()) is not None, patience=120), (
                log.read_text()
            )
            (url,) = {*listening.findall(log.read_text())}
            with httpx.Client(base_url=url, timeout=30) as client:
                yield client
        finally:
            process.send_signal(signal.SIGTERM)
            status = process.wait(60)
        assert status == 0, log.read_text()


def set_up(client: httpx.Client) -> str:
    """Send the requests of the guide for a guarded service; return its key."""
    (block,) = parsed(between(GUIDE.read_text(encoding="utf-8"), "setup"))
    ids: dict[str, str] = {}
    answer: dict[str, Any] = {}
    own = block.text.replace("orders", "shop")  # the extension has the other name
    for request in own.split("\n\n"):
        line, body = re.sub(r"\b[A-Z]{4,}\b", lambda word: ids.get(word[0], word[0]), request).split("\n", 1)
        method, path = line.split()
        sent = client.request(method, path, json=json.loads(body))
        assert sent.status_code < 300, sent.text
        answer = sent.json()["data"] or {}
        if path in MADE:
            ids[MADE[path]] = str(answer["id"])
    key: str = answer["key"]
    return key


def test_everything_works_beside_a_project_named_service(
    programs: Path, project: Path, built: list[Path], tmp_path: Path
) -> None:
    portcullis = Installed(programs, project)
    assert portcullis.run("--version").stdout.startswith("portcullis ")
    for words in (("policy", "check"), ("policy", "test"), ("settings",)):
        ended = portcullis.run(*words)
        assert ended.returncode == 0, ended.stderr
    hidden = portcullis.run("serve", PYTHONPATH=str(project))
    assert (hidden.returncode, hidden.stderr.count("\n")) == (1, 1)
    assert f"the Python package service is {project}/service/__init__.py" in hidden.stderr
    with portcullis.serving() as client:
        assert client.get("/health/ready").status_code == 200
        console = client.get("/console")
        script = re.search(r'src="(/console/\w+/main\.js)"', console.text)
        assert script is not None
        module = script[1].replace("main.js", "client/portcullis.js")
        for path in (script[1], module, "/docs", "/docs/openapi.json", "/docs/guide/index.html"):
            assert client.get(path).status_code == 200, path
        login = {"userName": "admin", "password": PASSWORD}
        token = client.post("/api/auth/login", json=login).json()["data"]["accessToken"]
        client.headers["Authorization"] = f"Bearer {token}"
        assert client.get("/api/orders").status_code == 200  # of the extension
        listed = portcullis.run("admin", "list")
        assert (listed.returncode, "admin" in listed.stdout) == (0, True), listed.stderr
        asking = installed(tmp_path / "client", wheel_of(built, CLIENT), python=str(programs / "python"))
        answers = subprocess.run(
            [str(asking / "python"), "-c", ASK],
            cwd=project,
            env={"PATH": os.environ["PATH"], "URL": str(client.base_url).rstrip("/"), "KEY": set_up(client)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (answers.stdout.split(), answers.stderr) == (["True", "False"], "")
