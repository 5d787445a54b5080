"""The pages about sessions name every key of the session store, every cookie and every security event."""

from __future__ import annotations

import re

from service.settings import Auth
from service.web.messages.cookies import CSRF_HEADER, Cookies
from tests.docs.pages import ROOT

PAGE = (ROOT / "docs" / "explanation" / "sessions.md").read_text(encoding="utf-8")
KEYS = (ROOT / "docs" / "reference" / "session-store.md").read_text(encoding="utf-8")
SCRIPTS = ROOT / "service" / "keyspace" / "scripts"
TELLING = [ROOT / "service" / part for part in ("authn", "administration")]


def test_every_key_that_a_script_names_is_on_the_page() -> None:
    text = "".join(script.read_text(encoding="utf-8") for script in SCRIPTS.glob("*.lua"))
    families = set(re.findall(r"'(auth:[a-z:]+)'", text)) - {"auth:online:page"}  # gone with its script

    assert len(families) == 18
    named = {family: f"`{family}" if family.endswith(":") else f"`{family}`" for family in families}
    assert {family for family, name in named.items() if name not in KEYS} == set()


def test_every_security_event_is_on_the_page() -> None:
    modules = [module for part in TELLING for module in part.rglob("*.py")]
    text = "".join(module.read_text(encoding="utf-8") for module in modules)
    events = re.findall(r'_security\(\s*"([^"]+)"', text)
    events += re.findall(r'_log\.\w+\(\s*"([^"]+)",\s*event_type="security"', text)

    assert len(events) == 7
    assert [event for event in events if f"| `{event}` |" not in PAGE] == []


def test_every_cookie_is_on_the_page() -> None:
    cookies = Cookies(Auth(jwt_secret="hinges-2-portals-7-winches-4-chains-9", is_read_cookie=True))
    for name in (cookies.access, cookies.refresh, cookies.csrf, CSRF_HEADER):
        assert f"`{name}`" in PAGE
