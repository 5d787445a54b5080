"""What the manifests of deploy/kubernetes promise; `dev.py check` validates each object."""

import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from service import __version__
from service.features.operations.diagnosis.store_checks import connections_of
from service.server.stop_order import longest_stop, with_stop_grace
from service.settings import Settings, load
from tests.support.cases import with_each

KUBERNETES = Path(__file__).resolve().parents[2] / "deploy" / "kubernetes"
BASE = KUBERNETES / "base"
OVERLAY = KUBERNETES / "overlays" / "example"
SECRETS = {
    "DATABASE_URL": "postgresql://portcullis@database/portcullis",
    "REDIS_URL": "redis://sessions:6379/0",
    "JWT_SECRET": "kX7-Qw2zPv9_LrT4mNb8sYc1HjD6gUfEoAi3ZxKlVtR",
    "PORTCULLIS_AUTH__FACTOR_KEY": "Vb7-Rt2zNc9_WqY4hKm8sJd1GxP6fLeUoAi3ZkTlQvE",
    "PORTCULLIS_OPLOG__CHAIN_KEY": "Mz5-Hq8wLd3_TrB7nVk2sYc9JxG4pFeUoAi6ZuKlWvR",
    "OBJSTORE_ACCESS_KEY": "example",
    "OBJSTORE_SECRET_KEY": "kX7-Qw2zPv9",
    "PORTCULLIS_SERVER__METRICS_TOKEN": "Hq3-Lm9_Zr5tYw8vBn2kXc6dFg4sJp7e",
}
MEBI = 1024 * 1024
A_WORKER = 80 * MEBI  # resident, of docs/decisions/0042
AN_UPLOAD = 16 * MEBI  # of docs/reference/settings.md, upload.concurrent
UNITS = {"Mi": MEBI, "Gi": 1024 * MEBI}

Document = dict[str, Any]


@cache
def documents(folder: Path) -> list[Document]:
    return [
        document
        for path in sorted(folder.glob("*.yaml"))
        for document in yaml.safe_load_all(path.read_text(encoding="utf-8"))
        if document["kind"] != "Kustomization"
    ]


def only(kind: str) -> Document:
    (manifest,) = [document for document in documents(BASE) if document["kind"] == kind]
    return manifest


def template(document: Document) -> Document:
    """Return the template of the pods of a Deployment, a Job or a CronJob."""
    spec = document["spec"]
    pod_template: Document = (spec["jobTemplate"]["spec"] if "jobTemplate" in spec else spec)["template"]
    return pod_template


PODS = [document for document in documents(BASE) if document["kind"] in {"Deployment", "Job", "CronJob"}]
SERVICE = template(only("Deployment"))["spec"]
CONTAINER = SERVICE["containers"][0]
GIVEN = only("ConfigMap")["data"]
SHOWN = yaml.safe_load((OVERLAY / "configuration.yaml").read_text(encoding="utf-8"))["data"]


@pytest.fixture(scope="module")
def settings() -> Settings:
    return load({"PORTCULLIS_CONFIG": "", **GIVEN, **SHOWN, **SECRETS})


@with_each("pod", PODS)
def test_every_pod_is_confined_and_has_no_token_for_the_cluster(pod: Document) -> None:
    spec = template(pod)["spec"]
    assert spec["automountServiceAccountToken"] is False
    assert spec["enableServiceLinks"] is False
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["securityContext"]["runAsUser"] == 10001
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    for container in spec["containers"]:
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert container["resources"].keys() == {"requests", "limits"}
    assert not [volume for volume in spec["volumes"] if "hostPath" in volume]


@with_each("pod", PODS)
def test_secrets_are_given_by_reference(pod: Document) -> None:
    for container in template(pod)["spec"]["containers"]:
        assert "env" not in container
        assert container["envFrom"][:2] == [
            {"configMapRef": {"name": "portcullis"}},
            {"secretRef": {"name": "portcullis"}},
        ]


def test_the_pages_name_every_secret() -> None:
    for page in ("deploy/README.md", "docs/guides/deploy.md"):
        text = (KUBERNETES.parents[1] / page).read_text(encoding="utf-8")
        assert [name for name in SECRETS if f"`{name}`" not in text.partition("## Kubernetes")[2]] == [], page


def test_no_file_holds_a_secret() -> None:
    for folder in (BASE, OVERLAY):
        assert not [document for document in documents(folder) if document["kind"] == "Secret"]
    assert not (GIVEN.keys() | SHOWN.keys()) & SECRETS.keys()


def test_the_settings_take_what_the_pods_are_given(settings: Settings) -> None:
    assert settings.objstore.bucket == "portcullis"
    assert settings.database.migrate is False


def test_a_stop_has_the_time_that_it_takes(settings: Settings) -> None:
    announced = CONTAINER["lifecycle"]["preStop"]["sleep"]["seconds"]
    needed = announced + longest_stop(with_stop_grace(settings))
    assert SERVICE["terminationGracePeriodSeconds"] >= needed


def test_the_probes_ask_for_what_they_are_for() -> None:
    probes = {name: CONTAINER[f"{name}Probe"] for name in ("startup", "liveness", "readiness")}
    assert {name: probe["httpGet"]["path"] for name, probe in probes.items()} == {
        "startup": "/health/live",
        "liveness": "/health/live",
        "readiness": "/health/ready",
    }
    assert probes["readiness"]["timeoutSeconds"] >= 2  # each part may take a second
    assert all(probe["failureThreshold"] > 1 for probe in probes.values())


def test_the_most_nodes_and_one_more_fit_the_usual_database(settings: Settings) -> None:
    nodes = only("HorizontalPodAutoscaler")["spec"]["maxReplicas"]
    nodes += only("Deployment")["spec"]["strategy"]["rollingUpdate"]["maxSurge"]
    assert nodes * settings.server.workers * connections_of(settings) <= 97 - 10  # the rest is for commands


def test_the_memory_is_enough_for_the_workers_and_all_their_uploads(settings: Settings) -> None:
    limit = CONTAINER["resources"]["limits"]["memory"]
    processes = settings.server.workers + 2  # the launcher, and the template of the workers
    uploads = settings.server.workers * settings.upload.concurrent * AN_UPLOAD
    assert int(limit[:-2]) * UNITS[limit[-2:]] > processes * A_WORKER + uploads


def test_a_drained_machine_leaves_a_node_that_serves() -> None:
    assert only("HorizontalPodAutoscaler")["spec"]["minReplicas"] > 1
    assert only("PodDisruptionBudget")["spec"]["maxUnavailable"] == 1
    assert only("Deployment")["spec"]["strategy"]["rollingUpdate"]["maxUnavailable"] == 0


def test_only_named_places_are_reached() -> None:
    policies = [document for document in documents(BASE) if document["kind"] == "NetworkPolicy"]
    (nothing,) = [policy["spec"] for policy in policies if not policy["spec"].keys() & {"ingress", "egress"}]
    assert nothing == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    rules = [rule for policy in policies for rule in policy["spec"].get("egress", [])]
    rules += [rule for policy in policies for rule in policy["spec"].get("ingress", [])]
    assert len(rules) == 3
    assert all(rule["ports"] and all(rule.get("from", rule.get("to"))) for rule in rules)


def test_the_migration_comes_before_the_nodes_which_refuse_an_older_schema() -> None:
    job = only("Job")
    assert template(job)["spec"]["containers"][0]["args"] == ["db", "migrate"]
    assert {job["metadata"]["labels"]["app.kubernetes.io/component"]} == {"migration"}
    assert GIVEN["PORTCULLIS_DATABASE__MIGRATE"] == "false"
    needed = {"ServiceAccount", "ConfigMap", "NetworkPolicy"}  # applied with it, before all others
    founded = [item for item in documents(BASE) if item["kind"] in needed]
    assert {item["metadata"]["labels"]["app.kubernetes.io/component"] for item in founded} == {"foundation"}


@with_each("folder", sorted(path.parent for path in KUBERNETES.rglob("kustomization.yaml")))
def test_a_kustomization_names_every_file_beside_it(folder: Path) -> None:
    named = yaml.safe_load((folder / "kustomization.yaml").read_text(encoding="utf-8"))
    paths = {*named.get("resources", []), *(patch["path"] for patch in named.get("patches", []))}
    assert {path for path in paths if "/" not in path} == {
        path.name for path in folder.glob("*.yaml") if path.name != "kustomization.yaml"
    }
    others = {*paths, *named.get("components", [])} - {path for path in paths if "/" not in path}
    assert all((folder / other / "kustomization.yaml").exists() for other in others)


@pytest.mark.skipif(
    shutil.which("kubectl") is None, reason="kubectl, which builds kustomizations, is missing"
)
def test_the_example_is_built_and_its_objects_are_valid() -> None:
    objects = built(OVERLAY)
    for made in objects:
        kubernetes_validate.validate(made, kubernetes_validate.latest_version(), strict=True)
    assert {made["kind"] for made in objects} >= {document["kind"] for document in documents(BASE)}
    pods = [
        template(made)["spec"]["containers"][0]
        for made in objects
        if made["kind"] in {"Deployment", "Job", "CronJob"}
    ]
    assert {pod["image"] for pod in pods} == {f"registry.example.com/portcullis:{__version__}"}
    assert [pod["env"] for pod in pods] == [
        [{"name": "SSL_CERT_FILE", "value": "/etc/company-ca/ca.crt"}]
    ] * 3


@pytest.mark.skipif(
    shutil.which("kubectl") is None, reason="kubectl, which builds kustomizations, is missing"
)
def test_an_overlay_may_let_the_nodes_reach_more(tmp_path: Path) -> None:
    copied = shutil.copytree(KUBERNETES, tmp_path / "kubernetes")
    named = copied / "overlays" / "example" / "kustomization.yaml"
    text = named.read_text(encoding="utf-8")
    named.write_text(text.replace("  # - ../../components", "  - ../../components"), encoding="utf-8")
    objects = built(named.parent)
    (more,) = [made for made in objects if made["metadata"]["name"] == "portcullis-destinations"]
    kubernetes_validate.validate(more, kubernetes_validate.latest_version(), strict=True)
    chosen = more["spec"]["podSelector"]["matchLabels"]
    (nodes,) = [template(made) for made in objects if made["kind"] == "Deployment"]
    assert chosen.items() <= nodes["metadata"]["labels"].items()
    assert more["metadata"]["namespace"] == "portcullis"
    assert [port["port"] for rule in more["spec"]["egress"] for port in rule["ports"]] == [
        4318,
        465,
        587,
        6514,
        443,
    ]


def built(folder: Path) -> list[Document]:
    """Return what kustomize makes of ``folder``."""
    done = subprocess.run(
        ["kubectl", "kustomize", str(folder)], capture_output=True, text=True, timeout=60, check=True
    )
    return list(yaml.safe_load_all(done.stdout))
