"""The last lines of a run say what was left out on this machine, and how to get it."""

from collections import Counter
from typing import Final

import pytest

NO_BROWSER: Final = "there is no browser: on Debian and Ubuntu, `apt-get install chromium` brings one"
NO_CHINESE_FONT: Final = (
    "there is no font with Chinese characters, whose widths would be those of other texts: "
    "on Debian and Ubuntu, `apt-get install fontconfig fonts-noto-cjk` brings one"
)
NO_NODE: Final = "there is no Node or npm: on Debian and Ubuntu, `apt-get install nodejs npm` brings both"


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Write one line for each reason, with the number of tests; nothing if all have run."""
    reports = terminalreporter.stats.get("skipped", ())
    reasons = Counter(str(report.longrepr[2]) for report in reports if isinstance(report.longrepr, tuple))
    if reasons:
        terminalreporter.section("left out")
    for reason, count in reasons.most_common():
        tests = "1 test" if count == 1 else f"{count} tests"
        terminalreporter.line(f"{tests}: {reason.removeprefix('Skipped: ')}")
