"""The device type of a session: its grammar, and how it is derived from a User-Agent."""

import re

DEVICE = re.compile(r"[a-z0-9][a-z0-9_-]{0,31}")

_SIGNS = (
    ("mini_program", ("miniprogram", "miniprogramenv", "alipayclient", "swan-baiduboxapp")),
    ("tablet", ("ipad", "tablet", "kindle", "playbook", "silk/")),
    ("ios", ("iphone", "ipod", "cfnetwork", "darwin/")),
    ("android", ("android", "okhttp")),
    ("desktop", ("electron/", "tauri", "cef/")),
)

DERIVED = frozenset({"web", *(device for device, _ in _SIGNS)})
"""The device types that a User-Agent can give."""


def is_device(text: str) -> bool:
    """True if ``text`` is a device type: ``[a-z0-9][a-z0-9_-]{0,31}``."""
    return DEVICE.fullmatch(text) is not None


def device_from(user_agent: str) -> str:
    """Return the device type that ``user_agent`` indicates, else ``web``.

    One of ``web``, ``android``, ``ios``, ``mini_program``, ``tablet``, ``desktop``. An Android
    browser without "mobile" is a tablet, as its vendor documents.
    """
    agent = user_agent.lower()
    for device, signs in _SIGNS:
        if any(sign in agent for sign in signs):
            return (
                "tablet" if device == "android" and "mozilla" in agent and "mobile" not in agent else device
            )
    return "web"
