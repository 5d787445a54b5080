"""``portcullis pdp``: decide beside a service; and a doctor for this process."""

from __future__ import annotations

import asyncio
import gc
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import httpx
import msgspec
import uvloop

from service.cli.output import say
from service.features.follower.following import Follower
from service.features.follower.library import point_of
from service.features.follower.server import PdpApp, serve
from service.features.follower.settings import PdpSettings
from service.kernel.operator_error import OperatorError
from service.web.observability.log_format import configure_logging

if TYPE_CHECKING:
    from service.features.decision_log.decision_log import DecisionLog

_OPTIONS = {
    "hub": "the URL of the service",
    "key_file": "the file with the API key of the follower's account",
    "services": "the followed services, separated by commas",
    "listen": "a path of a Unix socket, or a loopback address with a port; 127.0.0.1:8181",
    "name": "the displayed name of this follower; the name of the machine",
    "stale": "the decision without a lease: deny, or last-known",
    "file": "the folder that keeps the policy for the next start",
    "decision_log": "the file of the decision log",
    "ca_file": "the certificates that authenticate the hub",
    "hosts": "accepted Host names, separated by commas; localhost, 127.0.0.1 and ::1",
}
_NUMBERS = {
    "bound": "the maximum age in seconds of the policy behind an answer; 2",
    "decision_log_allows": "the share of allowed questions to log, 0 to 1; 1",
}
_START = "Start it by portcullis pdp with these settings"
_UPDATE = "Update all its nodes, unless its feature agents is off"
_WITHIN = 5.0  # seconds for each question of the doctor


def add_arguments(parser: ArgumentParser) -> None:
    """Add the action and the settings."""
    parser.add_argument(
        "action", nargs="?", choices=("serve", "doctor"), default="serve", help="serve, by default"
    )
    parser.add_argument("--config", metavar="FILE", type=Path, help="a TOML file with these settings")
    for name, text in _OPTIONS.items():
        parser.add_argument(f"--{name.replace('_', '-')}", dest=name, metavar="X", help=text)
    for name, text in _NUMBERS.items():
        parser.add_argument(f"--{name.replace('_', '-')}", dest=name, metavar="N", type=float, help=text)


def run(options: Namespace, _environ: Mapping[str, str]) -> int:
    """Serve until a signal, or print the findings; return 1 for a fault. Raises PdpSettingsError."""
    given = {name: getattr(options, name) for name in (*_OPTIONS, *_NUMBERS)}
    settings = PdpSettings.read(options.config, given)
    if options.action == "doctor":
        configure_logging("auto", "critical", sys.stderr.buffer)
        findings = asyncio.run(_examined(settings))
        for finding in findings:
            say(f"{finding.state:7} {finding.name}: {finding.words}")
        return int(any(finding.state == "fault" for finding in findings))
    configure_logging()
    uvloop.run(_serve(settings))
    return 0


async def _serve(settings: PdpSettings) -> None:
    point = point_of(settings)
    log = _decision_log(settings)
    async with Follower(settings, point) as follower:
        follower.restore()
        gc.collect()
        gc.freeze()  # a hundred thousand users and lines are no garbage
        if log is not None:
            log.start()
        try:
            await serve(follower, PdpApp(follower, log))
        finally:
            with suppress(OSError):
                follower.keep_now()
            if log is not None:
                await log.finish()


def _decision_log(settings: PdpSettings) -> DecisionLog | None:
    if settings.decision_log is None:
        return None
    # Imports modules of the log export, which are not needed without a decision log.
    from service.features.decision_log.decision_log import DecisionLog, DecisionWriter, output_named  # noqa: PLC0415

    return DecisionLog(DecisionWriter(output_named(settings.decision_log)), settings.decision_log_allows)


class Finding(NamedTuple):
    """A finding of the doctor."""

    state: Literal["ok", "warning", "fault"]
    name: str
    words: str


async def _examined(settings: PdpSettings) -> list[Finding]:
    """Return the findings about the settings, the hub and the running process."""
    findings = [Finding("ok", "settings", f"{', '.join(settings.services)} of {settings.hub}")]
    try:
        settings.key()
    except OperatorError as error:
        return [*findings, Finding("fault", "key", str(error))]
    findings.append(await _hub(settings))
    findings += [finding async for finding in _process(settings)]
    if settings.file is None:
        findings.append(Finding("warning", "file", "none is set: each start loads everything from the hub"))
    return findings


async def _hub(settings: PdpSettings) -> Finding:
    """Return the finding about a renewal; the hub does not list it, because nothing is decided by it."""
    asking = PdpSettings(
        hub=settings.hub,
        key_file=settings.key_file,
        services=settings.services,
        name="doctor",
        bound=0.2,
        ca_file=settings.ca_file,
    )
    async with Follower(asking, point_of(asking)) as follower:
        follower.decides = False
        try:
            async with asyncio.timeout(_WITHIN):
                await follower.renew()
        except OperatorError as error:
            return Finding("fault", "hub", str(error))
        except Exception as error:  # noqa: BLE001 - any error is the finding
            return Finding("fault", "hub", f"can't be followed: {error or type(error).__name__}")
    return Finding("ok", "hub", f"responds with revision {follower.revision}")


async def _process(settings: PdpSettings) -> AsyncIterator[Finding]:
    place = settings.address()
    transport = httpx.AsyncHTTPTransport(uds=str(place)) if isinstance(place, Path) else None
    url = "http://pdp" if isinstance(place, Path) else f"http://{settings.listen}"
    async with httpx.AsyncClient(
        base_url=url, transport=transport, timeout=_WITHIN, trust_env=False
    ) as client:
        try:
            facts = msgspec.json.decode((await client.get("/health/ready")).content)
        except (httpx.HTTPError, msgspec.MsgspecError) as error:
            yield Finding(
                "fault", "process", f"{settings.listen} does not respond: {type(error).__name__}. {_START}"
            )
            return
    if facts["status"] != "up":
        yield Finding("fault", "lease", f"there is none: {facts['fault'] or 'it has expired'}")
    else:
        yield Finding("ok", "lease", f"{facts['ageMs']} ms old, of at most {facts['boundMs']} ms")
    if sorted(facts["services"]) != sorted(settings.services) or facts["hub"] != settings.hub:
        yield Finding("warning", "process", "it runs with other settings than these")
    else:
        yield Finding("ok", "process", f"revision {facts['revision']}, rights {facts['rights']}")
    if facts["status"] == "up":
        yield _agents(facts.get("agents"))


def _agents(acting: bool | None) -> Finding:
    """Return the finding about tokens of agents; ``acting`` as in ``Changes``."""
    if acting is None:
        return Finding("warning", "agents", f"tokens are refused: the hub sends no delegations. {_UPDATE}")
    return Finding("ok", "agents", "tokens are accepted" if acting else "all agents are switched off")
