"""What the files of deploy/pdp promise; `dev.py check` validates compose.yaml and each manifest."""

from pathlib import Path
from typing import Any

import yaml

from service.cli.lazy_commands import CommandParser
from service.features.follower.commands import add_arguments
from service.features.follower.settings import PdpSettings
from tests.support.cases import with_each

PDP = Path(__file__).resolve().parents[2] / "deploy" / "pdp"
SETTINGS = PdpSettings.read(PDP / "pdp.toml", {})
COMPOSE = yaml.safe_load((PDP / "compose.yaml").read_text("utf-8"))


def manifest(name: str) -> Any:
    return yaml.safe_load((PDP / name).read_text("utf-8"))["spec"]["template"]["spec"]


PODS = {name: manifest(f"{name}.yaml") for name in ("sidecar", "daemonset")}


def pdp_of(pod: Any) -> Any:
    (container,) = [
        each for each in (*pod.get("initContainers", ()), *pod["containers"]) if each["name"] == "pdp"
    ]
    return container


def options(words: list[str]) -> Any:
    parser = CommandParser()
    add_arguments(parser)
    return parser.parse_args(words)


def test_the_settings_serve_a_socket_of_the_machine() -> None:
    assert isinstance(SETTINGS.address(), Path)
    assert (SETTINGS.services, SETTINGS.bound, SETTINGS.stale) == (("orders",), 2.0, "deny")


@with_each("name", PODS)
def test_a_pod_is_confined_and_mounts_what_the_settings_name(name: str) -> None:
    pod = PODS[name]
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True
    container = pdp_of(pod)
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    mounts = [Path(mount["mountPath"]) for mount in container["volumeMounts"]]
    assert SETTINGS.file is not None
    for path in (Path(SETTINGS.listen), SETTINGS.file, SETTINGS.key_file):
        assert path.parent in mounts
    assert {volume["name"] for volume in pod["volumes"]} == {
        mount["name"] for mount in container["volumeMounts"]
    }
    command, *words = container["args"]
    assert command == "pdp"
    assert options(words).config == Path("/etc/portcullis/pdp.toml")
    assert options(container["startupProbe"]["exec"]["command"][2:]).action == "doctor"


def test_the_service_reaches_the_socket_and_may_use_it() -> None:
    pdp, orders = COMPOSE["services"]["pdp"], COMPOSE["services"]["orders"]
    assert options(pdp["command"][1:]).config == Path("/etc/portcullis/pdp.toml")
    assert options(pdp["healthcheck"]["test"][3:]).action == "doctor"
    group = pdp["user"].partition(":")[2]
    assert orders["group_add"] == [group]
    assert orders["environment"]["PORTCULLIS_BESIDE"] == SETTINGS.listen
    places = [volume.split(":")[1] for volume in pdp["volumes"]]
    assert str(SETTINGS.key_file) in places
    assert str(Path(SETTINGS.listen).parent) in places
    (sidecar,) = PODS["sidecar"]["containers"]
    assert sidecar["env"] == [{"name": "PORTCULLIS_BESIDE", "value": SETTINGS.listen}]
