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
WITHIN: Final = 20.0
"""Seconds that a request waits for findings; the checks continue for later requests."""


@dataclass(frozen=True, slots=True)
class Examined:
    """The findings of all checks, and the time when the checks began."""

    findings: Findings
    begun: datetime


class LatestFindings:
    """Runs the checks of this node on request, at most once in ``KEPT`` seconds; some for ``Check.kept``.

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
        self._fine: dict[str, tuple[Finding, float]] = {}  # until when, of ``Check.kept``
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
        checks = checks_for(self._settings.features.off)
        kept = {check.name: check.kept for check in checks}
        findings = {name: finding for name, (finding, ends) in self._fine.items() if started < ends}
        due = [check for check in checks if check.name not in findings]
        made = asyncio.run(examine(os.environ, self._settings, self._routes, due, in_force))
        self._fine |= {
            name: (finding, started + kept[name])
            for name, finding in made
            if kept[name] and finding.state == "ok"
        }
        findings |= made
        return Examined([(name, findings[name]) for name in kept if name in findings], begun)
