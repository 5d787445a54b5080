"""What doctor says of an installation that was started for the first time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.support.running import portcullis, running
from tests.support.waiting import eventually


def test_a_fresh_installation_has_nothing_that_is_worth_acting_on(tmp_path: Path) -> None:
    data = {"PORTCULLIS_SERVER__DATA": str(tmp_path / "data")}
    told: list[dict[str, Any]] = []

    def is_well() -> bool:
        ended = portcullis(tmp_path, "doctor", "--strict", "--json", **data)
        told[:] = [one for one in json.loads(ended.output)["checks"] if one["state"] != "ok"]
        return ended.status == 0

    with running(tmp_path, "--workers", "1", **data):
        # The first worker makes the months of the logs once it serves.
        assert eventually(is_well), told
