"""Checks that compare the nodes of an installation, by what their workers report."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from service import __version__
from service.features.operations.diagnosis.file_checks import kept_secret
from service.features.operations.sentences import sentence
from service.operator.findings import Finding, Installation, Unanswered, fault, few, ok, warning
from service.records.published import policy_workers
from service.records.published.policy_workers import NodeFacts, PolicyWorker
from service.settings import SettingsError
from service.settings.all_sections import shared_digests

_FAULTY: Final = ("down", "read_only")


async def _present(installation: Installation) -> list[PolicyWorker]:
    async with installation.records() as connection:
        return await policy_workers.present(connection)


async def _workers_with_facts(installation: Installation) -> list[tuple[PolicyWorker, NodeFacts]]:
    present = await _present(installation)
    return [(worker, worker.facts) for worker in present if worker.facts is not None]


async def versions(installation: Installation) -> Finding:
    """Nodes may have different versions only during a roll-out."""
    present = await _present(installation)
    counts = Counter("" if worker.facts is None else worker.facts["version"] for worker in present)
    named = [
        sentence("workers_of_version", version=version, count=number)
        if version
        else sentence("workers_of_older_version", count=number)
        for version, number in sorted(counts.items(), key=lambda item: item[0] or "an")
    ]
    if not named:
        return ok(sentence("no_worker_of_version", version=__version__))
    message = sentence("versions_of_workers", workers=named, version=__version__)
    return ok(message) if set(counts) <= {__version__} else warning(message, sentence("complete_upgrade"))


async def settings(installation: Installation) -> Finding:
    """Nodes with other settings judge the same login, password or token differently."""
    auth = installation.settings.auth
    try:
        # Key pairs sign without a secret, regardless of an old secret in the data directory.
        secret = auth.jwt_secret or (kept_secret(installation) if auth.jwt_algorithm.startswith("HS") else "")
    except SettingsError:
        raise Unanswered(sentence("signing_secret_unreadable")) from None
    own = shared_digests(installation.settings, secret)
    differing: dict[str, list[str]] = {}
    for worker, facts in await _workers_with_facts(installation):
        names = sorted(name for name in own if facts["settings"].get(name, own[name]) != own[name])
        if names:
            differing.setdefault(", ".join(names), []).append(worker.worker)
    if not differing:
        return ok(sentence("settings_equal"))
    named = [f"{names}: {few(those)}" for names, those in sorted(differing.items())]
    return warning(sentence("settings_differ", workers="; ".join(named)), sentence("same_settings"))


async def parts(installation: Installation) -> Finding:
    """Collect the faults that only a worker can find on its node."""
    problems = list(_troubles(await _workers_with_facts(installation)))
    if not problems:
        return ok(sentence("parts_up"))
    states = {state for _, state, _ in problems}
    by_part: dict[str, list[str]] = {}
    for part, state, worker in problems:
        by_part.setdefault(f"{part} {state.replace('_', '-')}", []).append(worker)
    named = "; ".join(f"{what}: {few(those)}" for what, those in sorted(by_part.items()))
    message = sentence("parts_in_trouble", parts=named)
    remedy = sentence("see_parts")
    return fault(message, remedy) if states & set(_FAULTY) else warning(message, remedy)


async def proxy_headers(installation: Installation) -> Finding:
    """Without the client's address all clients count as one: a few wrong passwords throttle everybody."""
    kinds: dict[str, list[str]] = {}
    for _, facts in await _workers_with_facts(installation):
        if (proxy := facts["parts"].get("proxy")) is not None:
            kinds.setdefault(str(proxy.get("kind")), []).append(str(proxy.get("peer")))
    if peers := kinds.get("unnamed"):
        return fault(
            f"{few(peers)} sends X-Forwarded-For, but is not in server.trusted_proxies",
            "add the proxy if it is yours; otherwise a client reaches the service directly",
        )
    if peers := kinds.get("silent"):
        return fault(
            f"{few(peers)} in server.trusted_proxies sends no client addresses: most requests count as "
            "sent by the proxy itself",
            "configure the proxy to set X-Forwarded-For to the address of the client, not to unknown; "
            "Forwarded (RFC 7239) is not supported; see docs/guides/deploy.md",
        )
    return ok("requests match server.trusted_proxies")


def _troubles(reports: Sequence[tuple[PolicyWorker, NodeFacts]]) -> Iterator[tuple[str, str, str]]:
    for worker, facts in reports:
        for part, health in facts["parts"].items():
            if part != "proxy":  # it has a check of its own
                yield part, str(health.get("state")), worker.worker
