"""The findings of a running service, cached for a while."""

import asyncio
import os
from dataclasses import dataclass
from datetime import datetime
from time import monotonic
from typing import Final

from service.authz.publishing.live import LivePolicy
from service.errors import Unavailable
from service.features.operations.checks import checks_for
from service.features.operations.diagnosis.examination import examine
from service.features.operations.sentences import sentence
from service.kernel.clock import now
from service.operator.findings import Finding, Findings, Routes
from service.settings import Settings

KEPT: Final = 15.0
"""Seconds for which findings are cached."""
KEPT_FINE: Final = 300.0
"""Seconds for which a slow check that found nothing wrong is not made again."""
WITHIN: Final = 20.0
"""Seconds that a request waits for findings; the checks continue for later requests."""


@dataclass(frozen=True, slots=True)
class Examined:
    """The findings of all checks, and the time when the checks began."""

    findings: Findings
    begun: datetime


class LatestFindings:
    """Runs the checks of this node on request, at most once in ``KEPT`` seconds.

    A slow check that found nothing wrong is made again after ``KEPT_FINE`` seconds, or by another policy.

    The checks run in a thread with an event loop and connections of its own, so requests are not delayed.
    """

    def __init__(
        self, settings: Settings, routes: Routes, live: LivePolicy | None = None, *, kept: float = KEPT
    ) -> None:
        """``live`` has the policy in force; without it, the checks derive a policy from scratch."""
        self._settings = settings
        self._routes = routes
        self._live = live
        self._kept = kept
        self._fine: dict[str, tuple[Finding, float]] = {}
        self._revision = 0
        self._began = 0.0
        self._made: asyncio.Future[Examined] | None = None

    async def read(self) -> Examined:
        """Return the findings; Unavailable if the checks take longer than ``WITHIN``."""
        made = self._made
        if made is None or (made.done() and monotonic() - self._began >= self._kept):
            self._began = monotonic()
            made = self._made = asyncio.get_running_loop().run_in_executor(None, self._examine)
        try:
            async with asyncio.timeout(WITHIN):
                return await asyncio.shield(made)
        except TimeoutError:
            raise Unavailable(sentence("checks_take_long")) from None

    def _examine(self) -> Examined:
        begun, started = now(), monotonic()
        in_force = None if self._live is None else self._live.current
        revision = 0 if in_force is None else in_force.revision
        if revision != self._revision:
            self._revision, self._fine = revision, {}
        checks = checks_for(self._settings.features.off)
        findings = {
            name: finding for name, (finding, made) in self._fine.items() if started < made + KEPT_FINE
        }
        due = [check for check in checks if check.name not in findings]
        findings |= asyncio.run(examine(os.environ, self._settings, self._routes, due, in_force))
        for check in due:
            if check.slow and findings[check.name].state == "ok":
                self._fine[check.name] = findings[check.name], started
        return Examined([(check.name, findings[check.name]) for check in checks], begun)
