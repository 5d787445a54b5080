"""docs/guides/export-the-audit.md works as it stands: its receiver gets and verifies what is sent."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from service.settings import load
from tests.audit.conftest import until
from tests.docs.blocks import blocks
from tests.docs.pages import ROOT
from tests.export.conftest import Place
from tests.export.test_delivery import drained

pytestmark = pytest.mark.anyio

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
