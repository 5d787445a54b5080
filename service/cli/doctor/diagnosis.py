"""Checks the installation that the environment describes."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from service import settings as table
from service.diagnosis.checks import CHECKS, Check
from service.diagnosis.examination import examine
from service.diagnosis.findings import Findings, fault, unknown
from service.embedded import EmbeddedError
from service.operator.known_routes import known_routes
from service.operator.stores import reachable
from service.settings import Settings, SettingsError


def diagnose(
    environ: Mapping[str, str], state_file: Path | None = None, public_url: str | None = None
) -> Findings:
    """Check the installation that ``environ`` describes; errors become findings.

    With ``state_file``, also whether what is stored is what that file says; with ``public_url``, what arrives
    of requests that are sent there.
    Existing embedded stores are started for the checks if no service runs them.
    """
    try:
        settings = table.load(environ)
    except SettingsError as wrong:
        return [
            ("settings", fault(f"{name} {message}", "see docs/reference/settings.md"))
            for name, message in wrong.faults
        ]
    found: Findings = []
    with ExitStack() as stack:
        if (settings.database.url and settings.redis.url) or (settings.server.data / "owner").exists():
            try:
                settings = stack.enter_context(reachable(settings))
            except (EmbeddedError, SettingsError) as wrong:
                found.append(("embedded-stores", fault(_in_one_line(wrong), "see the logs in server.data")))
        else:
            found.append(("embedded-stores", unknown("none was made yet: the first start makes them")))
        routes = partial(known_routes, settings.policy)
        found += asyncio.run(examine(environ, settings, routes, _checks(state_file)))
        return found if public_url is None else found + _publicly(public_url, settings)


def _checks(state_file: Path | None) -> tuple[Check, ...]:
    if state_file is None:
        return CHECKS
    from service.cli.doctor.state_checks import state_file as compare

    return (*CHECKS, Check("state-file", partial(compare, state_file)))


def _publicly(url: str, settings: Settings) -> Findings:
    from service.diagnosis.public import ask_publicly

    return ask_publicly(url, settings.server.metrics_token)


def _in_one_line(error: Exception) -> str:
    return " ".join(str(error).split())
