"""What the doctor says of other nodes, of upkeep, of replicas and of this machine."""

import asyncio
import base64
import hashlib
import json
import resource
import secrets
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from msgspec import structs

from service import __version__
from service.features.operations.checks import checks_for
from service.features.operations.diagnosis import machine_checks, store_checks
from service.features.operations.diagnosis.examination import examine
from service.features.operations.disks import Disk
from service.installation import changed_files
from service.operator.findings import Finding, Installation
from service.records.database.server_facts import Replication, Standby
from service.settings import Settings, load, local_secret
from service.settings.all_sections import shared_digests
from tests.features.operations.doctor.conftest import execute, no_routes, variables_of
from tests.features.operations.doctor.test_stores import GOOD
from tests.support.cases import with_each
from tests.support.tls import TlsServer, write_certificate

Made: TypeAlias = Callable[..., Finding]


@pytest.fixture
def made(database_url: str, tmp_path: Path) -> Made:
    """Make one check, with other variables in place of the usual ones where any are given."""
    usual = variables_of(database_url, "", tmp_path / "data")

    def finding(check: str, **variables: str) -> Finding:
        environ = usual | variables
        checks = [candidate for candidate in checks_for() if candidate.name == check]
        ((_, outcome),) = asyncio.run(examine(environ, load(environ), no_routes, checks))
        return outcome

    return finding


def report(database_url: str, worker: str = "node-1:7:a", **facts: Any) -> None:
    """Have a worker report, with ``facts`` in place of those of a good one."""
    payload = json.dumps({"version": __version__, "settings": {}, "parts": {}} | facts)
    execute(
        database_url,
        f"INSERT INTO sys.policy_worker (worker, revision, facts) VALUES ('{worker}', 1, '{payload}')"
        " ON CONFLICT (worker) DO UPDATE SET facts = excluded.facts",
    )


def test_nodes_of_another_version_are_told(made: Made, database_url: str) -> None:
    assert made("versions").message == f"no worker is running; this is {__version__}"
    report(database_url)
    assert made("versions").state == "ok"
    report(database_url, "node-2:7:b", version="0.0.1")
    finding = made("versions")
    assert (finding.state, finding.message) == (
        "warning",
        f"0.0.1 (1 worker), {__version__} (1 worker); this is {__version__}",
    )


def test_a_worker_that_reports_no_version_is_an_older_one(made: Made, database_url: str) -> None:
    execute(database_url, "INSERT INTO sys.policy_worker (worker, revision) VALUES ('node-1:7:a', 1)")
    finding = made("versions")
    assert (finding.state, finding.message) == ("warning", f"an older one (1 worker); this is {__version__}")


def test_key_pairs_are_compared_without_the_secret_that_an_earlier_start_has_left(
    made: Made, database_url: str, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    data.mkdir(mode=0o700)
    local_secret(data, 64)
    key = generate_private_key(SECP256R1())
    private, public = tmp_path / "private.pem", tmp_path / "public.pem"
    private.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    private.chmod(0o600)
    public.write_bytes(key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    pair = {
        "JWT_SECRET": "",
        "PORTCULLIS_AUTH__JWT_ALGORITHM": "ES256",
        "PORTCULLIS_AUTH__JWT_PRIVATE_KEY": str(private),
        "PORTCULLIS_AUTH__JWT_PUBLIC_KEY": str(public),
    }
    signing = replace(Settings().auth, jwt_algorithm="ES256")
    report(database_url, settings=shared_digests(replace(Settings(), auth=signing), ""))
    assert made("node-settings", **pair).state == "ok"


def test_nodes_with_other_settings_are_told_by_section(made: Made, database_url: str) -> None:
    secret = secrets.token_urlsafe(48)
    report(database_url, settings=shared_digests(Settings(), secret))
    alike = made("node-settings", JWT_SECRET=secrets.token_urlsafe(48))
    assert alike.state == "warning"  # another secret
    finding = made("node-settings", JWT_SECRET=secret, PORTCULLIS_AUTH__MAX_DEVICES="7")
    assert (finding.state, finding.message) == (
        "warning",
        "workers with different settings, by section: auth: node-1:7:a",
    )
    assert made("node-settings", JWT_SECRET=secret, PORTCULLIS_SERVER__PORT="9999").state == "ok"


def test_digests_of_settings_tell_no_secret_and_differ_by_the_key() -> None:
    digests = shared_digests(Settings(), "a" * 32)
    other = shared_digests(Settings(), "b" * 32)
    assert not set(digests.values()) & set(other.values())
    hidden = replace(Settings(), oplog=replace(Settings().oplog, chain_key="c" * 32))
    assert shared_digests(hidden, "a" * 32) == digests


@pytest.mark.parametrize(
    ("parts", "state", "message"),
    [
        ({}, "ok", "all parts of all workers are up, or no worker is running"),
        ({"disk": {"state": "read_only"}}, "fault", "disk read-only: node-1:7:a"),
        ({"clock": {"state": "degraded"}}, "warning", "clock degraded: node-1:7:a"),
    ],
)
def test_what_is_wrong_on_a_node_is_told_from_any_node(
    made: Made, database_url: str, parts: dict[str, Any], state: str, message: str
) -> None:
    report(database_url, parts=parts)
    finding = made("parts")
    assert (finding.state, finding.message) == (state, message)


@pytest.mark.parametrize(
    ("kind", "end"),
    [
        ("unnamed", "10.0.0.9 sends X-Forwarded-For, but is not in server.trusted_proxies"),
        (
            "silent",
            (
                "10.0.0.9 in server.trusted_proxies sends no client addresses: most requests count as "
                "sent by the proxy itself"
            ),
        ),
    ],
)
def test_a_proxy_that_the_settings_do_not_fit_is_told_with_its_address(
    made: Made, database_url: str, kind: str, end: str
) -> None:
    report(database_url, parts={"proxy": {"state": "degraded", "kind": kind, "peer": "10.0.0.9"}})
    finding = made("proxy-headers")
    assert finding.state == "fault"
    assert finding.message == end


def test_an_old_backup_is_told_and_none_only_once_the_installation_is_not_new(
    made: Made, database_url: str
) -> None:
    assert made("backup").message == "none yet; the installation is new"
    execute(database_url, "UPDATE sys.user SET create_time = now() - interval '8 days'")
    assert (made("backup").state, made("backup", PORTCULLIS_DATABASE__BACKUP_DAYS="0").state) == (
        "warning",
        "ok",
    )
    execute(
        database_url,
        "INSERT INTO sys.backup (id, snapshot_time, user_name, with_files)"
        " VALUES ('a1', now() - interval '3 days', 'wanda', true)",
    )
    assert (made("backup").state, made("backup", PORTCULLIS_DATABASE__BACKUP_DAYS="2").state) == (
        "ok",
        "warning",
    )


def test_logs_that_were_not_verified_lately_are_told_and_faults_that_were_found(
    made: Made, database_url: str
) -> None:
    assert made("log-verification").state == "ok"
    execute(database_url, "UPDATE sys.user SET create_time = now() - interval '8 days'")
    assert made("log-verification").message == "the logs were never verified"
    execute(database_url, "INSERT INTO sys.log_verification VALUES ('login_log', now(), 3, 0)")
    assert made("log-verification").state == "ok"
    execute(database_url, "UPDATE sys.log_verification SET verify_time = now() - interval '4 days'")
    assert made("log-verification").state == "warning"
    execute(database_url, "UPDATE sys.log_verification SET faulty_count = 2")
    finding = made("log-verification")
    assert (finding.state, finding.message) == (
        "fault",
        "days or restores were changed after they were written: login_log: 2",
    )


@pytest.mark.parametrize(
    ("variables", "state"),
    [
        ({}, "ok"),
        ({"PORTCULLIS_SERVER__HOST": "0.0.0.0"}, "warning"),
        ({"PORTCULLIS_SERVER__TRUSTED_PROXIES": "10.0.0.1"}, "warning"),
        ({"PORTCULLIS_SERVER__HOST": "0.0.0.0", "PORTCULLIS_SERVER__METRICS_TOKEN": "mX3-" * 8}, "ok"),
    ],
)
def test_a_missing_token_of_the_metrics_is_told_where_others_reach_the_service(
    made: Made, variables: dict[str, str], state: str
) -> None:
    assert made("metrics", **variables).state == state


@pytest.mark.parametrize(("free", "state"), [(900, "ok"), (50, "warning"), (1, "fault")])
def test_disks_without_room_are_told(
    made: Made, monkeypatch: pytest.MonkeyPatch, free: int, state: str
) -> None:
    monkeypatch.setattr(machine_checks, "disk_at", lambda _path: Disk(free << 20, 1000 << 20))
    assert made("disk-space").state == state


@pytest.mark.parametrize(
    ("limit", "state"), [(1024, "warning"), (4096, "ok"), (resource.RLIM_INFINITY, "ok")]
)
def test_a_low_limit_of_open_files_is_told(
    made: Made, monkeypatch: pytest.MonkeyPatch, limit: int, state: str
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _what: (limit, limit))
    assert made("open-files").state == state


@pytest.mark.parametrize(
    ("days", "state", "word"),
    [(60, "ok", "ends"), (14, "warning", "ends"), (3, "fault", "ends"), (-1, "fault", "ended")],
)
def test_the_end_of_a_certificate_is_a_warning_first_and_then_a_fault(
    made: Made, tmp_path: Path, days: int, state: str, word: str
) -> None:
    with TlsServer(write_certificate(tmp_path / "own.pem", ends_in=timedelta(days=days))) as server:
        finding = made("certificates", PORTCULLIS_SERVER__PUBLIC_URL=f"https://localhost:{server.port}")
    assert finding.state == state
    assert finding.message.startswith(f"the certificate of public {word} at ")


IN_STEP = Standby("b", "streaming", synchronous=True, lag=0.1, behind=100)


@with_each(
    ("replication", "url", "state"),
    [
        (Replication(waits=False, standbys=()), "postgresql://one/x", "ok"),
        (Replication(waits=True, standbys=(IN_STEP,)), "postgresql://one,two/x", "ok"),
        (Replication(waits=False, standbys=()), "postgresql://one,two/x", "warning"),
        (Replication(waits=True, standbys=()), "postgresql://one/x", "fault"),
        (Replication(waits=True, standbys=(structs.replace(IN_STEP, synchronous=False),)), "", "fault"),
        (Replication(waits=True, standbys=(structs.replace(IN_STEP, synchronous=None, lag=None),)), "", "ok"),
        (Replication(waits=False, standbys=(structs.replace(IN_STEP, lag=90.0),)), "", "warning"),
        (Replication(waits=False, standbys=(structs.replace(IN_STEP, behind=1 << 30),)), "", "warning"),
    ],
)
def test_standbys_that_lag_or_are_waited_for_in_vain_are_told(
    replication: Replication, url: str, state: str
) -> None:
    assert store_checks.judged(replication, url).state == state


def test_a_database_without_standbys_is_read(made: Made) -> None:
    assert made("standbys").message == "none is connected"


def test_a_read_replica_must_answer_and_be_a_standby(made: Made, database_url: str) -> None:
    assert made("read-replica").state == "ok"
    assert "not a standby" in made("read-replica", DATABASE_REPLICA_URL=database_url).message
    away = made("read-replica", DATABASE_REPLICA_URL="postgresql://127.0.0.1:1/x")
    assert (away.state, away.message) == ("warning", "it does not answer")


@with_each(("lags", "state"), [((), "ok"), ((0, 1), "ok"), ((0, 30), "warning"), ((None,), "warning")])
def test_replicas_of_the_session_store_that_are_out_of_touch_are_told(
    lags: tuple[int | None, ...], state: str
) -> None:
    installation = Installation({}, Settings(), no_routes, store=replace(GOOD, replica_lags=lags))
    assert store_checks.store_replicas(installation).state == state


def test_files_that_were_edited_inside_an_installed_package_are_named(tmp_path: Path) -> None:
    def record(name: str) -> str:
        content = (tmp_path / name).read_bytes()
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        return f"{name},sha256={digest},{len(content)}"

    shipped, info = tmp_path / "service" / "shipped", tmp_path / "portcullis-1.0.dist-info"
    shipped.mkdir(parents=True)
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: portcullis\nVersion: 1.0\n")
    for name in ("model.conf", "base.csv"):
        (shipped / name).write_text(name)
    names = ("service/shipped/model.conf", "service/shipped/base.csv")
    compiled = "service/shipped/__pycache__/verify.cpython-311.pyc,,"  # as pip records bytecode
    (info / "RECORD").write_text("\n".join([*map(record, names), compiled]))
    asked = ("portcullis", "service/shipped/", [str(tmp_path)])

    assert changed_files(*asked) == ()
    (shipped / "base.csv").write_text("p, endpoint, GET /api/policy, @anyone\n")
    assert changed_files(*asked) == ("service/shipped/base.csv",)
    (shipped / "model.conf").unlink()
    assert changed_files(*asked) == names
    assert changed_files("portcullis", "service/shipped/", []) is None
    (info / "RECORD").write_text("service/shipped/base.csv,,")
    assert changed_files(*asked) == ("service/shipped/base.csv",)
