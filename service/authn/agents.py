"""Browser and operating system, as a User-Agent tells them to people who read lists of sessions."""

from __future__ import annotations

import ua_parser

MAX_USER_AGENT = 512


def describe(user_agent: str) -> tuple[str, str]:
    """Return the browser and the operating system with their main versions; empty texts for the unknown.

    A call takes one or two milliseconds once ``prepare`` has been called; the first one calls it otherwise.
    """
    browser = ua_parser.parse_user_agent(user_agent)
    system = ua_parser.parse_os(user_agent)
    return (
        _joined(browser.family, browser.major) if browser else "",
        _joined(system.family, system.major) if system else "",
    )


def prepare() -> None:
    """Compile the 1,200 patterns of ``describe``, which takes some tenths of a second and some megabytes."""
    describe("")


def _joined(family: str, major: str | None) -> str:
    return f"{family} {major}" if major else family
