"""docs/sessions.md names every key of the session store."""

from __future__ import annotations

import re

from tests.docs.pages import ROOT

PAGE = (ROOT / "docs" / "sessions.md").read_text(encoding="utf-8")
SCRIPTS = ROOT / "service" / "keyspace" / "scripts"


def test_every_key_that_a_script_names_is_on_the_page() -> None:
    text = "".join(script.read_text(encoding="utf-8") for script in SCRIPTS.glob("*.lua"))
    families = set(re.findall(r"'(auth:[a-z:]+)'", text)) - {"auth:online:page"}  # gone with its script

    assert len(families) == 10
    assert {family for family in families if f"`{family}" not in PAGE} == set()
