"""``portcullis doctor``: checks an installation for operator errors, with remedies.

The checks are in ``diagnosis``. Changes nothing, prints no secret, and reports an unavailable store instead
of failing.
"""

import asyncio
import json
import sys
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from service import settings as table
from service.cli.lazy_commands import add_usual
from service.cli.output import say_text
from service.features.operations.checks import checks_for
from service.features.operations.diagnosis.examination import examine
from service.features.operations.diagnosis.public import ask_publicly
from service.features.operations.state_file import state_file as compare
from service.operator.errors import EmbeddedError, NoInstallationError
from service.operator.findings import STATES, Check, Findings, fault, unknown, worst_of
from service.operator.known_routes import known_routes
from service.operator.stores import reachable
from service.settings import Settings, SettingsError
from service.web.observability.log_format import configure_logging


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options."""
    add_usual(parser)
    parser.add_argument("--strict", action="store_true", help="exit with status 1 for warnings too")
    parser.add_argument(
        "--url", metavar="URL", help="also check which headers of requests to this address arrive"
    )
    parser.add_argument("--state", metavar="FILE", type=Path, help="report differences from this state file")


def run(options: Namespace, environ: Mapping[str, str]) -> int:
    """Print the findings; returns the exit status, see ``status_of``."""
    # The report on standard output has the failures.
    configure_logging("auto", "critical", sys.stderr.buffer)
    findings = diagnose(environ, options.state, options.url)
    say_text(as_json(findings) if options.json else as_text(findings))
    return status_of(findings, strict=options.strict)


def diagnose(
    environ: Mapping[str, str], state_file: Path | None = None, public_url: str | None = None
) -> Findings:
    """Check the installation that ``environ`` describes; errors become findings.

    With ``state_file``, also compare the stored state with that file. With ``public_url``, also check how
    requests sent there arrive. Starts existing embedded stores for the checks if no service runs them.
    """
    try:
        settings = table.load(environ)
    except SettingsError as wrong:
        return [
            ("settings", fault(f"{name} {message}", "see docs/reference/settings.md"))
            for name, message in wrong.faults
        ]
    findings: Findings = []
    with ExitStack() as stack:
        if (settings.database.url and settings.redis.url) or (settings.server.data / "owner").exists():
            try:
                settings = stack.enter_context(reachable(settings))
            except (EmbeddedError, NoInstallationError, SettingsError) as wrong:
                reason = " ".join(str(wrong).split())
                findings.append(("embedded-stores", fault(reason, "see the logs in server.data")))
        else:
            findings.append(("embedded-stores", unknown("none yet: the first start creates them")))
        routes = partial(known_routes, settings)
        findings += asyncio.run(examine(environ, settings, routes, _checks(settings, state_file)))
        return findings if public_url is None else findings + _publicly(public_url, settings)


def _checks(settings: Settings, state_file: Path | None) -> tuple[Check, ...]:
    checks = checks_for(settings.features.off)
    if state_file is None:
        return checks
    return (*checks, Check("state-file", partial(compare, state_file)))


def _publicly(url: str, settings: Settings) -> Findings:
    return ask_publicly(url, settings.server.metrics_token)


def status_of(findings: Findings, *, strict: bool) -> int:
    """Return the exit status: 1 for a fault, if ``strict`` for anything that is not ok, else 0."""
    worst = worst_of(findings)
    return int(worst == "fault" or (strict and worst != "ok"))


def as_text(findings: Findings) -> str:
    """Return one line per finding, and a line with their number."""
    width = max(len(name) for name, _ in findings)
    lines = []
    for name, finding in findings:
        remedy = f" -> {finding.remedy}" if finding.remedy else ""
        message = " ".join(f"{finding.message}{remedy}".split())
        lines.append(f"{finding.state:7}  {name:{width}}  {message}")
    counts = Counter(finding.state for _, finding in findings)
    total = ", ".join(f"{state} {counts[state]}" for state in STATES if counts[state])
    return "\n".join([*lines, f"Checks: {len(findings)}; {total}."])


def as_json(findings: Findings) -> str:
    """Return an object with the worst state and all checks."""
    checks = [
        {"check": name, "state": finding.state, "message": finding.message, "remedy": finding.remedy or None}
        for name, finding in findings
    ]
    return json.dumps({"status": worst_of(findings), "checks": checks}, indent=2)
