"""What deploy/compose.yaml promises, read from the file itself."""

import re
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import yaml

from service import __version__
from service.server.stop_order import DRAIN, GRACE, STOP_MARGIN
from service.settings import load
from tests.support.cases import with_each

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
TEXT = (DEPLOY / "compose.yaml").read_text(encoding="utf-8")
DOCKERFILE = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
COMPOSE: dict[str, Any] = yaml.safe_load(TEXT)
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
NODES = ("node-1", "node-2")
STORES = ("database", "sessions", "objects", "bucket")
OURS = (*NODES, "migration", "backup")
REFERENCE = re.compile(r"(?<!\$)\$\{([A-Z0-9_]+)([^}]*)\}")


@with_each("name", SERVICES)
def test_every_container_is_confined(name: str) -> None:
    container = SERVICES[name]
    assert container["read_only"] is True
    assert container["cap_drop"] == ["ALL"]
    assert container["security_opt"] == ["no-new-privileges:true"]
    assert re.fullmatch("0:0" if name == "proxy" else r"[1-9]\d*:[1-9]\d*", container["user"])
    assert container["pids_limit"] > 0
    assert container.get("cap_add", ["NET_BIND_SERVICE"]) == ["NET_BIND_SERVICE"]
    assert ("cap_add" in container) is (name == "proxy")
    assert not container.keys() & {"privileged", "network_mode", "pid", "ipc", "devices"}


@with_each("name", SERVICES)
def test_every_image_is_named_by_a_version(name: str) -> None:
    assert re.fullmatch(r"[a-z/]+:v?\d+\.\d+(\.\d+(\.dev0)?)?", SERVICES[name]["image"])


@with_each("name", STORES)
def test_the_stores_publish_no_port_and_have_no_way_out(name: str) -> None:
    assert "ports" not in SERVICES[name]
    assert SERVICES[name]["networks"] == ["inside"]
    assert COMPOSE["networks"]["inside"]["internal"] is True


def test_only_the_proxy_is_reached_from_elsewhere() -> None:
    ports = {name: service["ports"] for name, service in SERVICES.items() if "ports" in service}
    assert ports.pop("proxy") == ["80:80", "443:443"]
    assert all(port.startswith("127.0.0.1:") for published in ports.values() for port in published)
    assert not [name for name in OURS if {"outside"} & {*SERVICES[name]["networks"]}]


def test_the_nodes_reach_the_public_address_whose_certificate_they_look_at() -> None:
    public = SERVICES["node-1"]["environment"]["PORTCULLIS_SERVER__PUBLIC_URL"]
    (name,) = SERVICES["proxy"]["networks"]["front"]["aliases"]
    assert public == f"https://{name}"
    assert all("front" in SERVICES[node]["networks"] for node in NODES)


def test_a_container_mounts_files_of_this_folder_to_read_and_volumes_to_write() -> None:
    mounts = [mount for service in SERVICES.values() for mount in service.get("volumes", [])]
    files = [mount for mount in mounts if mount.startswith("./")]
    assert all(mount.endswith(":ro") and (DEPLOY / mount.split(":")[0]).is_file() for mount in files)
    assert {mount.split(":")[0] for mount in mounts if mount not in files} == {*COMPOSE["volumes"]}


def test_the_nodes_trust_the_proxy_and_nobody_else() -> None:
    address = SERVICES["proxy"]["networks"]["front"]["ipv4_address"]
    (subnet,) = COMPOSE["networks"]["front"]["ipam"]["config"]
    assert ip_address(address) in ip_network(subnet["subnet"])
    for name in NODES:
        assert SERVICES[name]["environment"]["PORTCULLIS_SERVER__TRUSTED_PROXIES"] == f"{address}/32"


def test_the_proxy_shares_the_requests_among_all_nodes() -> None:
    variables = SERVICES["proxy"]["environment"]
    assert variables["PORTCULLIS_UPSTREAM"].split() == [f"{name}:8080" for name in NODES]
    assert {*re.findall(r"\{\$(\w+)\}", (DEPLOY / "caddy" / "Caddyfile").read_text())} == {*variables}
    assert {
        name: wait["condition"] for name, wait in SERVICES["proxy"]["depends_on"].items()
    } == dict.fromkeys(NODES, "service_healthy")


def test_our_containers_run_this_version() -> None:
    assert {SERVICES[name]["image"] for name in OURS} == {f"portcullis:{__version__}"}


def test_the_nodes_are_alike_and_start_when_the_schema_is_there() -> None:
    assert SERVICES["node-1"] == SERVICES["node-2"]
    assert SERVICES["node-1"]["environment"]["PORTCULLIS_DATABASE__MIGRATE"] == "false"
    assert SERVICES["migration"]["command"] == ["db", "migrate"]


def test_a_backup_before_an_upgrade_migrates_nothing_and_is_made_before_the_new_checkout() -> None:
    assert {*SERVICES["backup"]["depends_on"]} == {*STORES} - {"objects"}
    page = (DEPLOY.parent / "docs" / "guides" / "deploy.md").read_text(encoding="utf-8")
    for backup in ("compose run --rm --no-deps backup", "systemctl start portcullis-backup.service"):
        before, upgrade = page[: page.rindex(backup)][-400:], page[page.rindex(backup) :]
        assert "First make a backup" in before
        assert "put the new checkout" in upgrade[:400]


def test_a_stop_has_the_time_that_it_takes() -> None:
    given = int(SERVICES["node-1"]["stop_grace_period"].removesuffix("s"))
    assert given > GRACE + DRAIN + STOP_MARGIN


def test_prometheus_asks_each_node_and_knows_the_alerts() -> None:
    known = yaml.safe_load((DEPLOY / "prometheus" / "containers.yaml").read_text(encoding="utf-8"))
    (job,) = known["scrape_configs"]
    assert job["job_name"] == "portcullis"  # as the alerts select
    assert job["static_configs"] == [{"targets": [f"{name}:8080" for name in NODES]}]
    assert job["authorization"]["credentials_file"] in SERVICES["prometheus"]["command"][-1]
    assert known["rule_files"] == ["alerts.yaml"]
    assert any(":/etc/prometheus/alerts.yaml:" in mount for mount in SERVICES["prometheus"]["volumes"])


def test_grafana_finds_prometheus_and_the_dashboard() -> None:
    source = yaml.safe_load((DEPLOY / "grafana" / "datasource.yaml").read_text(encoding="utf-8"))
    folder = yaml.safe_load((DEPLOY / "grafana" / "dashboards.yaml").read_text(encoding="utf-8"))
    assert [datasource["url"] for datasource in source["datasources"]] == ["http://prometheus:9090"]
    path = folder["providers"][0]["options"]["path"]
    assert f"./grafana/portcullis.json:{path}/portcullis.json:ro" in SERVICES["grafana"]["volumes"]


def test_no_secret_has_a_default() -> None:
    assert all(rest.startswith(":?") for _, rest in REFERENCE.findall(TEXT))
    for service in SERVICES.values():
        for name, value in service["environment"].items():
            if re.search(r"PASSWORD|SECRET|ACCESS_KEY|TOKEN", name):
                assert value is None or REFERENCE.fullmatch(value), name


def test_the_example_of_the_secrets_names_each_and_gives_none() -> None:
    lines = (DEPLOY / ".env.example").read_text(encoding="utf-8").splitlines()
    named = [line for line in lines if not line.startswith("#")]
    assert sorted(named) == sorted(f"{name}=" for name in {name for name, _ in REFERENCE.findall(TEXT)})
    assert ".env" in (DEPLOY / ".gitignore").read_text(encoding="utf-8").splitlines()


def test_the_settings_take_what_the_service_is_given() -> None:
    secret = "kX7-Qw2zPv9_LrT4mNb8sYc1HjD6gUfEoAi3ZxKlVtR"
    given = SERVICES["node-1"]["environment"]
    known = {
        name: value.replace("${PORTCULLIS_HOST:?set it in deploy/.env}", "access.example.com")
        for name, value in given.items()
        if value is not None
    }
    environ = {name: REFERENCE.sub(secret, value) for name, value in known.items()}
    settings = load({"PORTCULLIS_CONFIG": "", **environ})
    assert settings.database.url == f"postgresql://portcullis:{secret}@database:5432/portcullis"
    assert settings.redis.url == f"redis://:{secret}@sessions:6379/0"
    assert settings.objstore.endpoint == "http://objects:9000"
    assert (settings.auth.factor_key, settings.oplog.chain_key) == (secret, secret)


def test_the_nodes_wait_until_each_store_is_healthy() -> None:
    waits = {**SERVICES["node-1"]["depends_on"], **SERVICES["migration"]["depends_on"]}
    assert {name: wait["condition"] for name, wait in waits.items()} == {
        "database": "service_healthy",
        "migration": "service_completed_successfully",
        "sessions": "service_healthy",
        "bucket": "service_completed_successfully",
    }
    assert all("healthcheck" in SERVICES[name] for name in ("database", "sessions", "objects"))


def test_the_session_store_evicts_nothing() -> None:
    assert "maxmemory-policy noeviction" in SERVICES["sessions"]["command"][-1]


def test_our_containers_may_write_to_their_volumes() -> None:
    (made,) = re.findall(r"^RUN install -d -m 0700 -o 10001 -g 10001 (.*)$", DOCKERFILE, re.MULTILINE)
    mounts = [mount for name in OURS for mount in SERVICES[name].get("volumes", [])]
    assert {mount.split(":")[1] for mount in mounts} <= {*made.split()}  # a new volume takes over the owner
