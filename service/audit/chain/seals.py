"""Seals over the records of restores: without the key of the chains nobody can claim one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC

from service.audit.chain.form import Chain
from service.records.restore_epochs import Timeline


def sealed(chain: Chain, timeline: Timeline) -> Timeline:
    """Return ``timeline`` with a seal over its other fields."""
    return replace(timeline, seal=_seal(chain, timeline))


def is_sealed(chains: Iterable[Chain], timeline: Timeline) -> bool:
    """Return whether the record of a restore was made with one of the keys; the first timeline has none."""
    if timeline.number == 1:
        return timeline.backup_id is None
    return any(_seal(chain, timeline) == timeline.seal for chain in chains)


def _seal(chain: Chain, timeline: Timeline) -> bytes:
    moments = [
        moment and moment.astimezone(UTC).isoformat()
        for moment in (timeline.begin_time, timeline.snapshot_time)
    ]
    heads = [(head.log, str(head.day), head.key_id, head.number) for head in timeline.heads]
    facts = (timeline.number, timeline.name, timeline.backup_id, timeline.operator, timeline.ended)
    return chain.seal(f"timeline {(*facts, *moments, heads)}")
