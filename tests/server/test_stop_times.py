"""How long a service waits for load balancers when it stops."""

from __future__ import annotations

from dataclasses import replace

import pytest

from service.server.stop_times import GRACE, with_stop_grace
from service.settings import Database, Redis, Server, Settings

DATABASE, STORE = Database(url="postgresql://h/d"), Redis(url="redis://h")


@pytest.mark.parametrize(
    ("settings", "grace"),
    [
        (Settings(), 0.0),
        (Settings(database=DATABASE), GRACE),
        (Settings(redis=STORE), GRACE),
        (Settings(database=DATABASE, redis=STORE), GRACE),
    ],
)
def test_without_a_setting_only_nodes_beside_which_others_may_run_have_a_grace(
    settings: Settings, grace: float
) -> None:
    assert with_stop_grace(settings).server.stop_grace == grace
    for chosen in (0.0, 7.0):
        given = replace(settings, server=Server(stop_grace=chosen))
        assert with_stop_grace(given) == given
