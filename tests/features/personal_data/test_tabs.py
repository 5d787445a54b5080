"""The act of the console is on each tab of a user."""

import re
from pathlib import Path

CONSOLE = Path(__file__).parents[3] / "service/console"


def test_the_act_is_on_each_tab_of_a_user() -> None:
    views = (CONSOLE / "loaders.js").read_text(encoding="utf-8")
    feature = (CONSOLE / "features/personal_data/feature.js").read_text(encoding="utf-8")
    listed = feature.partition("const TABS = [")[2].partition("]")[0]
    tabs = re.findall(r'\["/users/\{id\}([^"]*)", user,', views)
    assert "/roles" in tabs
    assert re.findall(r'"([^"]*)"', listed) == tabs
