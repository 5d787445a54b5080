"""Programs that judge SCIM servers, written by others: scim2-tester and scim-sanity, over HTTP."""

import asyncio
import json
import sys
from typing import Any, Final

import pytest

from tests.features.scim.scim_client import scim_client
from tests.support.inside import Inside
from tests.web.served import served

pytestmark = pytest.mark.extended

ACCEPTED: Final[dict[str, str]] = {
    "did not remove attribute 'active'": "an account is always enabled or disabled",
    "unexpected value for 'emails'": "of several addresses only the primary one is kept",
    "unexpected value for 'members'": "the address of a member, $ref, is said here and not by the client",
    "PATCH /Groups/{id} add member": "it adds a member that is no user",
}
"""Checks that fail, by a part of what they say, with the reason."""


def _checked(base: str, key: str) -> list[str]:
    """Return what scim2-tester finds wrong."""
    httpx2 = pytest.importorskip("httpx2")
    tester = pytest.importorskip("scim2_tester")
    engine = pytest.importorskip("scim2_client.engines.httpx2")
    with httpx2.Client(base_url=base, headers={"Authorization": f"Bearer {key}"}) as client:
        results = tester.check_server(engine.SyncSCIMClient(client))
    bad = (tester.Status.ERROR, tester.Status.CRITICAL)
    assert len(results) > 50
    return [f"{each.title}: {each.reason}" for each in results if each.status in bad]


async def test_scim2_tester_finds_nothing_wrong(house: Inside) -> None:
    client = await scim_client(house)
    async with served(house._app) as port:
        base = f"http://127.0.0.1:{port}/scim/v2"
        faults = await asyncio.to_thread(_checked, base, client.key)
    assert [fault for fault in faults if not any(known in fault for known in ACCEPTED)] == []


async def test_scim_sanity_finds_nothing_wrong(house: Inside) -> None:
    pytest.importorskip("scim_sanity")
    client = await scim_client(house)
    async with served(house._app) as port:
        program = "import sys; from scim_sanity.cli import main; main()"
        probe = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", program, "probe", f"http://127.0.0.1:{port}/scim/v2"),
            *("--token", client.key, "--json-output", "--i-accept-side-effects"),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        printed, _ = await probe.communicate()
    report: dict[str, Any] = json.loads(printed[printed.index(b"{") :])
    failed = [each for each in report["results"] if each["status"] == "fail"]
    assert len(report["results"]) > 20
    assert [each for each in failed if not any(known in json.dumps(each) for known in ACCEPTED)] == []
