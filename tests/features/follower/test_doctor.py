"""The command, and what its doctor says about the settings, the hub and the process."""

import asyncio
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest

from service.features.follower import commands as pdp
from service.features.follower.following import Follower
from service.features.follower.library import point_of
from service.features.follower.server import PdpApp, serve
from service.features.follower.settings import PdpSettings, PdpSettingsError
from tests.features.follower.conftest import House
from tests.web.served import served


async def findings(settings: PdpSettings) -> dict[str, str]:
    return {finding.name: finding.state for finding in await pdp._examined(settings)}


async def test_the_doctor_says_whether_it_follows_and_answers(house: House, tmp_path: Path) -> None:
    async with served(house.hub._app) as port:
        place = tmp_path / "pdp.sock"
        settings = house.settings(
            house.key, hub=f"http://127.0.0.1:{port}", listen=str(place), file=tmp_path / "policy"
        )
        before = {finding.name: finding for finding in await pdp._examined(settings)}
        assert (before["hub"].state, before["process"].state) == ("ok", "fault")
        assert "Start it by portcullis pdp" in before["process"].words
        async with Follower(settings, point_of(settings)) as follower:
            serving = asyncio.create_task(serve(follower, PdpApp(follower)))
            async with asyncio.timeout(20):
                while not follower.point.lease.holds():  # noqa: ASYNC110 - there is no event for it
                    await asyncio.sleep(0.02)
            assert set((await findings(settings)).values()) == {"ok"}
            assert place.stat().st_mode & 0o777 == 0o660
            with pytest.raises(OSError, match="another process"):
                await serve(follower, PdpApp(follower))
            serving.cancel()
            await asyncio.gather(serving, return_exceptions=True)
        wrong = house.settings("pck_1_wrong_key", hub=settings.hub, listen=settings.listen)
        assert (await findings(wrong))["hub"] == "fault"
        listed = (await house.data("GET", "/api/policy/followers"))["followers"]
        assert [each["name"] for each in listed] == [settings.name], "who looks is no follower"


def test_the_doctor_warns_while_the_hub_sends_no_delegations() -> None:
    assert [pdp._agents(acting).state for acting in (None, False, True)] == ["warning", "ok", "ok"]


def options(**given: Any) -> Namespace:
    return Namespace(
        **dict.fromkeys((*pdp._OPTIONS, *pdp._NUMBERS)) | {"config": None, "action": "doctor"} | given
    )


def test_a_file_names_the_settings_and_options_replace_them(tmp_path: Path) -> None:
    file = tmp_path / "pdp.toml"
    file.write_text('hub = "http://hub"\nkey_file = "key"\nservices = ["orders"]\nbound = 1.5\n')
    settings = PdpSettings.read(file, {"services": "orders,stock", "bound": None})
    assert (settings.services, settings.bound, settings.key_file) == (("orders", "stock"), 1.5, Path("key"))
    for text in (
        "hub = 1 2",
        'hub = "http://hub"',
        'hub = "http://hub"\nkey_file = "k"\nservices = "a"\nx = 1',
    ):
        file.write_text(text)
        with pytest.raises(PdpSettingsError):
            pdp.run(options(config=file), {})


def test_a_key_that_others_can_read_is_refused(tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text("pck_1_x_y")
    key.chmod(0o644)
    settings = PdpSettings(hub="http://hub", key_file=key, services=("orders",))
    with pytest.raises(PdpSettingsError, match="chmod 600"):
        settings.key()
    key.chmod(0o640)
    assert settings.key() == "pck_1_x_y"
    key.write_text("secret")
    with pytest.raises(PdpSettingsError, match="no API key"):
        settings.key()
