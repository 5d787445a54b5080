"""The example receiver of docs/examples verifies events with a public library, and takes each once."""

import asyncio
import base64
import os
import socket
import sys
from collections.abc import AsyncIterator
from uuid import uuid4

import pytest

from service.features.events.delivery import body_of, message_id
from service.features.events.store import RightsEvent
from service.features.webhooks.posting import PostFault, post
from service.kernel.clock import now
from service.settings import EventDestination
from tests.support.running import ROOT

SECRET = f"whsec_{base64.b64encode(b'k' * 32).decode()}"
OTHER = f"whsec_{base64.b64encode(b'o' * 32).decode()}"


@pytest.fixture
async def receiver() -> AsyncIterator[tuple[asyncio.subprocess.Process, int]]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(ROOT / "docs/examples/webhook-receiver/receiver.py"),
        str(port),
        env=os.environ | {"WEBHOOK_SECRET": SECRET},
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(20):
            while True:
                try:
                    _, writer = await asyncio.open_connection("127.0.0.1", port)
                except OSError:
                    await asyncio.sleep(0.05)
                else:
                    writer.close()
                    break
        yield process, port
    finally:
        process.kill()
        await process.wait()


async def test_the_example_takes_an_event_once_and_refuses_a_wrong_signature(
    receiver: tuple[asyncio.subprocess.Process, int],
) -> None:
    process, port = receiver
    assert process.stdout is not None

    async def send(event: RightsEvent, secret: str) -> None:
        url = f"http://127.0.0.1:{port}/"
        destination = EventDestination(name="example", url=url, secret=secret, internal=True)
        await post(destination, message_id(event), body_of(event, None, destination))

    first, second = (
        RightsEvent(0, uuid4(), kind, 42, now(), {"roleCode": "auditor"})
        for kind in ("role.given", "role.taken")
    )
    await send(first, f"{OTHER} {SECRET}")  # as while a secret is rotated
    await send(first, SECRET)
    with pytest.raises(PostFault, match="401"):
        await send(second, OTHER)
    await send(second, SECRET)
    async with asyncio.timeout(20):
        lines = [await process.stdout.readline() for _ in range(2)]
    assert lines == [b"role.given 42 auditor\n", b"role.taken 42 auditor\n"]
