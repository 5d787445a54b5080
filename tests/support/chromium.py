"""The browser that pages are tried in: the machine's Chromium."""

import subprocess
from shutil import which
from typing import Final

import pytest

from tests.support.left_out import NO_BROWSER, NO_CHINESE_FONT

_NAMES: Final = (
    "chromium-headless-shell",  # without windows, which take half of the browser's time
    *("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"),
)


def chromium_path() -> str | None:
    """Return the path of the machine's Chromium; None where there is none."""
    return next(filter(None, (which(name) for name in _NAMES)), None)


def chromium() -> str:
    """Return the path of the machine's Chromium; skips the test where there is none."""
    program = chromium_path()
    if program is None:
        pytest.skip(NO_BROWSER)
    return program


def chinese_font() -> str:
    """Return the file of a font with Chinese characters; skips the test where fontconfig knows none."""
    files: list[str] = []
    if (program := which("fc-list")) is not None:
        command = [program, "--format=%{file}\n", ":lang=zh-cn"]
        files = subprocess.check_output(command, text=True).splitlines()
    if not files:
        pytest.skip(NO_CHINESE_FONT)
    return files[0]
