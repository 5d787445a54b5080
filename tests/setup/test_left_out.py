"""A run on a machine that lacks something says so at its end."""

import os
import subprocess
import sys
from pathlib import Path

from tests.support.left_out import NO_BROWSER
from tests.support.running import ROOT

LEAN = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # they take longer than the tests
TESTS = """
from tests.support.chromium import chromium

def test_in_a_browser(monkeypatch):
    monkeypatch.setattr("tests.support.chromium.which", lambda _: None)
    chromium()

def test_without():
    pass
"""


def test_the_last_lines_of_a_run_say_what_was_left_out_and_how_to_get_it(tmp_path: Path) -> None:
    (tmp_path / "test_some.py").write_text(TESTS)
    words = ["-m", "pytest", "-q", "-p", "tests.support.left_out", "-c", "/dev/null", str(tmp_path)]
    run = subprocess.run(
        [sys.executable, *words], cwd=ROOT, env=LEAN, capture_output=True, text=True, check=False
    )
    *_, line, closing = run.stdout.splitlines()
    assert line == f"1 test: {NO_BROWSER}"
    assert closing.startswith("1 passed, 1 skipped")
