"""One thing breaks at a time: readiness names it, a metric that an alert watches tells it, doctor finds it.

All cases share one service; each breaks one thing, mends it, and sees that all is well again.
"""

import asyncio
import secrets
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest
import yaml
from redis.asyncio import Redis as Store
from structlog.testing import capture_logs

from service.features.embedded.stores import EmbeddedStores
from service.features.operations import certificates
from service.features.operations.checks import checks_for
from service.features.operations.diagnosis.examination import examine
from service.keyspace import clock_watch
from service.settings import load
from service.web.observability import readiness
from tests.features.operations.doctor.conftest import no_routes
from tests.support.inside import Inside, inside
from tests.support.running import ROOT
from tests.support.s3 import S3Server, s3_server
from tests.support.shifted import shift
from tests.support.spare import SpareStores
from tests.support.tls import TlsServer, write_certificate
from tests.support.waiting import stopped
from tests.support.without import is_off, need

pytestmark = pytest.mark.feature("metrics")

TOKEN = "mX3-" * 8
OPERATOR = ("Authorization", f"Bearer {TOKEN}")
PROXY = "127.0.0.9"


class Site:
    """One service on stores that can be stopped, behind a proxy, with a small disk for its decision log."""

    def __init__(
        self,
        stores: EmbeddedStores,
        s3: S3Server,
        certificate: Path,
        disk: Path | None,
        variables: dict[str, str],
    ) -> None:
        self.stores = stores
        self.s3 = s3
        self.certificate = certificate
        self.disk = disk
        self.variables = variables
        self.service: Inside

    async def parts(self) -> dict[str, str]:
        """Return the states of the parts, as readiness tells them."""
        answer = await self.service.as_anonymous("GET", "/health/ready")
        document = answer.json.get("data", answer.json)
        assert (answer.status == 503) is bool(down(document["parts"])), answer.json
        return dict(document["parts"])

    async def down_by_metric(self) -> set[str]:
        """Return the parts whose metric is 0."""
        samples = await self.samples("portcullis_part_up{")
        return {line.split('part="')[1].split('"')[0] for line in samples if line.endswith(" 0")}

    async def samples(self, start: str) -> list[str]:
        """Return the lines of the metrics that start so."""
        answer = await self.service.as_anonymous("GET", "/metrics", OPERATOR)
        return [line for line in answer.body.decode().splitlines() if line.startswith(start)]

    async def becomes(self, **states: str) -> None:
        """Return once readiness and the metric tell these states; AssertionError if they never do."""
        current: dict[str, str] = {}
        for _ in range(200):
            current = await self.parts()
            if states.items() <= current.items():
                assert states.keys() <= await self.down_by_metric()
                return
            await asyncio.sleep(0.1)
        raise AssertionError(current)

    async def is_well(self) -> None:
        """Return once every part is up again; AssertionError if that does not come."""
        current: dict[str, str] = {}
        for _ in range(200):
            current = await self.parts()
            if set(current.values()) == {"up"}:
                assert await self.down_by_metric() == set()
                return
            await asyncio.sleep(0.1)
        raise AssertionError(current)

    async def state_of(self, check: str) -> str:
        """Return the state that doctor finds by one of its checks."""
        checks = [candidate for candidate in checks_for() if candidate.name == check]
        made = examine(self.variables, load(self.variables), no_routes, checks)
        ((_, finding),) = await asyncio.to_thread(asyncio.run, made)
        return finding.state

    async def finds(self, check: str, state: str) -> None:
        """Return once doctor finds ``state``: workers report what they know of their nodes in a moment."""
        current = ""
        for _ in range(100):
            if (current := await self.state_of(check)) == state:
                return
            await asyncio.sleep(0.1)
        raise AssertionError(current)

    async def request(self, peer: str, *, forwarded: bool) -> None:
        """Have a request arrive from ``peer``, with the header of a proxy or without it."""
        headers = [("X-Forwarded-For", "198.51.100.7")] if forwarded else []
        answer = await self.service.ask_from(peer, "GET", "/api/user/info", *headers)
        assert answer.status == 200


def down(parts: dict[str, str]) -> list[str]:
    vital = ("database", "sessions", "policy", "clock")
    return [name for name in vital if parts[name] in ("down", "read_only")]


@contextmanager
def small_disk(folder: Path) -> Iterator[Path | None]:
    """Yield a folder with 1 MiB of room; None where nothing can be mounted."""
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)], capture_output=True, check=False
    )
    try:
        yield folder if mounted.returncode == 0 else None
    finally:
        if mounted.returncode == 0:
            subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.fixture(scope="module")
async def site(spare_stores: SpareStores, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    folder = tmp_path_factory.mktemp("site")
    certificate = write_certificate(folder / "public.pem", ends_in=timedelta(days=90))
    (folder / "disk").mkdir()
    with (
        pytest.MonkeyPatch.context() as patch,
        spare_stores.borrowed(seeded=True) as stores,
        s3_server() as s3,
        TlsServer(certificate) as proxy,
        small_disk(folder / "disk") as disk,
    ):
        for watch in (certificates, readiness, clock_watch):
            patch.setattr(watch, "EVERY", 0.1)
        variables = {
            "PORTCULLIS_CONFIG": "",
            "JWT_SECRET": secrets.token_urlsafe(48),
            "PORTCULLIS_SERVER__METRICS_TOKEN": TOKEN,
            "PORTCULLIS_SERVER__DATA": str(folder / "data"),
            "PORTCULLIS_SERVER__PUBLIC_URL": f"https://localhost:{proxy.port}",
            "PORTCULLIS_SERVER__TRUSTED_PROXIES": PROXY,
            **s3.variables(),
        }
        if not is_off("export"):
            variables["PORTCULLIS_POLICY__DECISION_LOG"] = str((disk or folder) / "decisions.jsonl")
        async with inside(stores.database_url, stores.redis_url, **variables) as service:
            site = Site(stores, s3, certificate, disk, variables)
            site.service = service
            site.variables |= {
                "DATABASE_URL": stores.database_url,
                "REDIS_URL": stores.redis_url,
            }
            yield site


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with capture_logs():
        yield


def alerts() -> str:
    """Return the expressions of the alert rules."""
    rules = yaml.safe_load((ROOT / "deploy" / "prometheus" / "alerts.yaml").read_text())
    return "\n".join(rule["expr"] for group in rules["groups"] for rule in group["rules"] if "alert" in rule)


def test_an_alert_watches_the_parts() -> None:
    assert "portcullis_part_up" in alerts()


async def test_a_stopped_database_is_named_by_readiness_metric_and_doctor(site: Site) -> None:
    with stopped(site.stores.postgres):
        await site.becomes(database="down")
        assert await site.state_of("database") == "fault"
    await site.is_well()
    assert await site.state_of("database") == "ok"


async def test_a_stopped_session_store_is_named_by_readiness_metric_and_doctor(site: Site) -> None:
    with stopped(site.stores.valkey):
        await site.becomes(sessions="down")
        assert await site.state_of("session-store") == "fault"
    await site.is_well()
    assert await site.state_of("session-store") == "ok"


async def test_a_stopped_object_store_is_named_by_readiness_metric_and_doctor(site: Site) -> None:
    site.s3.stop()
    try:
        await site.becomes(files="down")
        assert await site.state_of("object-store") == "fault"
    finally:
        site.s3.start()
    await site.is_well()
    assert await site.state_of("object-store") == "ok"


async def test_clocks_that_are_apart_are_named_by_readiness_metric_and_doctor(site: Site) -> None:
    with pytest.MonkeyPatch.context() as patch:
        shift(patch, -40.0)
        await site.becomes(clock="degraded")
        assert await site.state_of("clocks") == "warning"
    await site.is_well()
    assert await site.state_of("clocks") == "ok"


async def test_a_session_store_that_was_ahead_is_named_by_readiness_metric_and_doctor(site: Site) -> None:
    async with Store.from_url(site.stores.redis_url) as store:
        seconds, _ = await store.time()
        await store.set("auth:ahead", 1000 * (seconds + 900), px=900_000)
        await site.becomes(clock="degraded")
        (sample,) = await site.samples("portcullis_clock_ahead_seconds{")
        assert 800 < float(sample.split()[1]) <= 900
        assert await site.state_of("clocks") == "warning"
        await store.delete("auth:ahead")
    await site.is_well()
    assert await site.state_of("clocks") == "ok"


@pytest.mark.parametrize(
    ("peer", "forwarded", "wrong"),
    [("127.0.0.8", True, 9), (PROXY, False, 40)],
    ids=["not named", "without the header"],
)
async def test_a_proxy_that_does_not_fit_is_named_by_readiness_metric_and_doctor(
    site: Site, peer: str, forwarded: bool, wrong: int
) -> None:
    for _ in range(wrong):
        await site.request(peer, forwarded=forwarded)
    await site.becomes(proxy="degraded")
    await site.finds("proxy-headers", "fault")
    for _ in range(2 * wrong):
        await site.request(PROXY, forwarded=True)
    await site.is_well()
    await site.finds("proxy-headers", "ok")


@pytest.mark.parametrize(("days", "part", "expected"), [(-1, "down", "fault"), (5, "degraded", "fault")])
async def test_a_certificate_that_ends_is_named_by_readiness_metric_and_doctor(
    site: Site, days: int, part: str, expected: str
) -> None:
    write_certificate(site.certificate, ends_in=timedelta(days=days))
    await site.becomes(certificates=part)
    assert await site.state_of("certificates") == expected
    write_certificate(site.certificate, ends_in=timedelta(days=14))
    await site.is_well()
    assert await site.state_of("certificates") == "warning"  # in time, before anything fails
    write_certificate(site.certificate, ends_in=timedelta(days=90))
    assert await site.state_of("certificates") == "ok"


async def test_a_full_disk_is_named_by_readiness_metric_and_doctor(site: Site) -> None:
    need("export")  # a decision log is what is on a disk of its own
    if site.disk is None:
        pytest.skip("no file system can be mounted here, so no disk can be full")
    filling = site.disk / "filling"
    with pytest.raises(OSError, match="No space left"):
        filling.write_bytes(bytes(2_000_000))
    await site.becomes(disk="read_only")
    assert await site.state_of("disk-space") == "fault"
    filling.unlink()
    await site.is_well()
    assert await site.state_of("disk-space") == "ok"
