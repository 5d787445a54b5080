"""Seals over the records of restores: without the key of the chains nobody can claim one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC

from service.audit.chain.form import Chain
from service.records.restore_epochs import RestoreEpoch


def sealed(chain: Chain, restore_epoch: RestoreEpoch) -> RestoreEpoch:
    """Return ``restore_epoch`` with a seal over its other fields."""
    return replace(restore_epoch, seal=_seal(chain, restore_epoch))


def is_sealed(chains: Iterable[Chain], restore_epoch: RestoreEpoch) -> bool:
    """Return whether the record of a restore was made with one of the keys; the first epoch has none."""
    if restore_epoch.number == 1:
        return restore_epoch.backup_id is None
    return any(_seal(chain, restore_epoch) == restore_epoch.seal for chain in chains)


def _seal(chain: Chain, restore_epoch: RestoreEpoch) -> bytes:
    moments = [
        moment and moment.astimezone(UTC).isoformat()
        for moment in (restore_epoch.begin_time, restore_epoch.snapshot_time)
    ]
    heads = [(head.log, str(head.day), head.key_id, head.number) for head in restore_epoch.heads]
    facts = (
        restore_epoch.number,
        restore_epoch.name,
        restore_epoch.backup_id,
        restore_epoch.operator,
        restore_epoch.ended,
    )
    return chain.seal(f"timeline {(*facts, *moments, heads)}")
