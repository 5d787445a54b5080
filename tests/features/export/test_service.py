"""The export of a whole service and its guide: what is done by HTTP arrives within seconds."""

import asyncio
import json
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from service.features.export.exporter import Exporter
from service.settings import Export, load
from tests.audit.conftest import until
from tests.docs.blocks import blocks
from tests.docs.pages import ROOT
from tests.features.export.conftest import Place
from tests.features.export.test_delivery import drained
from tests.features.metrics.test_metrics import TOKEN, value
from tests.support.inside_fixtures import ServiceWith


async def test_operations_logins_and_decisions_of_a_service_are_exported(
    service_with: ServiceWith, tmp_path: Path
) -> None:
    path = tmp_path / "audit.jsonl"
    logs = ["operations", "logins", "decisions"]
    given = {"archive": {"url": f"file://{path}", "logs": logs, "start": "beginning"}}
    chosen = {
        "PORTCULLIS_EXPORT__DESTINATIONS": json.dumps(given),
        "PORTCULLIS_SERVER__METRICS_TOKEN": TOKEN,
    }

    def exported() -> list[Any]:
        return [json.loads(line) for line in path.read_bytes().splitlines()] if path.exists() else []

    def has(log: str, **members: Any) -> bool:
        return any(item["log"] == log and members.items() <= item["entry"].items() for item in exported())

    async with service_with(**chosen) as service:
        new_user = {"userName": "bob", "nickName": "Bob", "password": "a-Long-enough-1", "roleIds": [3]}
        await service.data("POST", "/api/user", new_user)
        token = await service.log_in("bob", "a-Long-enough-1")
        denied = await service.ask("DELETE", "/api/user/1", token=token)
        assert denied.status == 403
        await until(lambda: has("logins", event="login", userName="bob", outcome="success"))
        await until(lambda: has("operations", targets=["user:bob"], status=201))
        await until(lambda: has("decisions", decision=denied.json["decisionId"], outcome="deny"))
        text = (await service.ask("GET", "/metrics", None, token=TOKEN)).body.decode()
        assert value(text, "portcullis_export_entries_total", destination="archive", outcome="sent") >= 3
        assert value(text, "portcullis_export_entries_total", destination="archive", outcome="dropped") == 0
        assert value(text, "portcullis_export_dead_letters", destination="archive") == 0
        assert value(text, "portcullis_export_lag_seconds", destination="archive") < 60
    ids = [item["id"] for item in exported()]
    assert len(set(ids)) == len(ids)
    for secret in (b"a-Long-enough-1", token.encode()):
        assert secret not in path.read_bytes()


class Delivery:
    """Takes ``turns`` of the event loop to end."""

    def __init__(self, turns: int) -> None:
        self._turns = turns
        self.ended = False

    async def run(self) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            for _ in range(self._turns):
                await asyncio.sleep(0)
            self.ended = True


async def test_the_export_has_ended_when_its_slowest_delivery_has() -> None:
    exporter = Exporter(Export(), cast(Any, None), "one")
    deliveries = [Delivery(0), Delivery(10)]
    exporter.deliveries = cast(Any, deliveries)
    running = asyncio.create_task(exporter.run())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    running.cancel()
    await asyncio.wait([running])
    assert [delivery.ended for delivery in deliveries] == [True, True]


PAGE = ROOT / "docs" / "guides" / "export-the-audit.md"
BLOCKS = {block.kind: block.text for block in blocks(PAGE)}


def is_there(port: int) -> bool:
    """Tell whether something listens; what is not signed is refused."""
    asked = urllib.request.Request(
        f"http://127.0.0.1:{port}",
        data=b"[]",
        headers={"webhook-id": "x", "webhook-timestamp": str(int(time.time())), "webhook-signature": "v1,no"},
    )
    try:
        urllib.request.urlopen(asked, timeout=5)
    except urllib.error.HTTPError as answer:
        return answer.code == 401
    except urllib.error.URLError:
        return False
    raise AssertionError("a wrong signature was accepted")


def made_secret(folder: Path) -> str:
    """Return what the commands of the page put into the variable."""
    shell = f'{BLOCKS["sh"]}\nprintf %s "$SIEM_SECRET"'
    made = subprocess.run(["bash", "-c", shell], cwd=folder, check=True, capture_output=True, text=True)
    return made.stdout


@contextmanager
def receiving(folder: Path, port: int) -> Iterator[None]:
    """Run the receiver of the page on another port."""
    text = BLOCKS["python"].replace("9000", str(port))
    with subprocess.Popen([sys.executable, "-c", text], cwd=folder, stderr=subprocess.DEVNULL) as process:
        try:
            yield
        finally:
            process.kill()


async def test_the_receiver_of_the_guide_gets_what_was_written_also_while_it_was_stopped(
    place: Place, tmp_path: Path, free_tcp_port: int
) -> None:
    config = tmp_path / "portcullis.toml"
    config.write_text(BLOCKS["toml"].replace("9000", str(free_tcp_port)))
    (to,) = load({"SIEM_SECRET": made_secret(tmp_path)}, file=config).export.destinations
    delivery = await place.delivery(to)
    written = []
    for action in ("first", "second"):
        written += await place.write(action)
        await delivery.step()  # nobody listens
        with receiving(tmp_path, free_tcp_port):
            await until(lambda: is_there(free_tcp_port))
            await place.due(delivery)
            await drained(delivery)
    lines = (tmp_path / "received.jsonl").read_text().splitlines()
    assert [json.loads(line)["id"] for line in lines] == written
