"""What deploy/compose.yaml promises, read from the file itself."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from service.settings import load

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
TEXT = (DEPLOY / "compose.yaml").read_text(encoding="utf-8")
COMPOSE: dict[str, Any] = yaml.safe_load(TEXT)
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
STORES = sorted(SERVICES.keys() - {"service"})
REFERENCE = re.compile(r"(?<!\$)\$\{([A-Z0-9_]+)([^}]*)\}")


@pytest.mark.parametrize("name", SERVICES)
def test_every_container_is_confined(name: str) -> None:
    container = SERVICES[name]
    assert container["read_only"] is True
    assert container["cap_drop"] == ["ALL"]
    assert container["security_opt"] == ["no-new-privileges:true"]
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", container["user"])
    assert container["pids_limit"] > 0
    assert not container.keys() & {"privileged", "cap_add", "network_mode", "pid", "ipc", "devices"}


@pytest.mark.parametrize("name", SERVICES)
def test_every_image_is_named_by_a_version(name: str) -> None:
    assert re.fullmatch(r"[a-z/]+:\d+\.\d+(\.\d+)?", SERVICES[name]["image"])


@pytest.mark.parametrize("name", STORES)
def test_the_stores_publish_no_port_and_have_no_way_out(name: str) -> None:
    assert "ports" not in SERVICES[name]
    assert SERVICES[name]["networks"] == ["inside"]
    assert COMPOSE["networks"]["inside"]["internal"] is True


def test_the_service_is_published_to_this_machine_only() -> None:
    assert SERVICES["service"]["ports"] == ["127.0.0.1:8080:8080"]


def test_no_container_mounts_anything_but_the_volumes_of_the_stores() -> None:
    mounts = {name: service["volumes"] for name, service in SERVICES.items() if "volumes" in service}
    assert {name: [mount.split(":")[0] for mount in found] for name, found in mounts.items()} == {
        name: [name] for name in COMPOSE["volumes"]
    }


def test_no_secret_has_a_default() -> None:
    assert all(rest.startswith(":?") for _, rest in REFERENCE.findall(TEXT))
    for service in SERVICES.values():
        for name, value in service["environment"].items():
            if re.search(r"PASSWORD|SECRET|ACCESS_KEY", name):
                assert value is None or REFERENCE.fullmatch(value), name


def test_the_example_of_the_secrets_names_each_and_gives_none() -> None:
    lines = (DEPLOY / ".env.example").read_text(encoding="utf-8").splitlines()
    named = [line for line in lines if not line.startswith("#")]
    assert sorted(named) == sorted(f"{name}=" for name in {name for name, _ in REFERENCE.findall(TEXT)})
    assert ".env" in (DEPLOY / ".gitignore").read_text(encoding="utf-8").splitlines()


def test_the_settings_take_what_the_service_is_given() -> None:
    secret = "kX7-Qw2zPv9_LrT4mNb8sYc1HjD6gUfEoAi3ZxKlVtR"
    given = SERVICES["service"]["environment"]
    environ = {name: REFERENCE.sub(secret, value) for name, value in given.items() if value is not None}
    settings = load({"PORTCULLIS_CONFIG": "", **environ})
    assert settings.database.url == f"postgresql://portcullis:{secret}@database:5432/portcullis"
    assert settings.redis.url == f"redis://:{secret}@sessions:6379/0"
    assert settings.objstore.endpoint == "http://objects:9000"


def test_the_service_waits_until_each_store_is_healthy() -> None:
    waits = SERVICES["service"]["depends_on"]
    assert {name: wait["condition"] for name, wait in waits.items()} == {
        "database": "service_healthy",
        "sessions": "service_healthy",
        "bucket": "service_completed_successfully",
    }
    assert all("healthcheck" in SERVICES[name] for name in ("database", "sessions", "objects"))


def test_the_session_store_evicts_nothing() -> None:
    assert "maxmemory-policy noeviction" in SERVICES["sessions"]["command"][-1]
