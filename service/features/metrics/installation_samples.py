"""Metrics of the whole installation, read from the stores at each scrape."""

import asyncio
from collections.abc import Collection, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass
from datetime import datetime
from itertools import chain
from typing import Final, get_args

from service.app.parts import Part
from service.errors import Unavailable
from service.features.audit_proof import store_chain as log_chain
from service.features.audit_proof.store_chain import Verification
from service.features.notices import store_mail as mail
from service.features.notices.store_mail import MailStanding
from service.features.operations import store as backups
from service.features.operations import store_jobs as jobs
from service.features.operations.store import Standing
from service.features.operations.store_jobs import StoredJob
from service.jobs.job import Job
from service.kernel.metrics import Sample, counted
from service.keyspace import LogQueue, SessionStore
from service.records.database.transactions import Database
from service.records.logs.inserts import Log
from service.records.published import policy_revisions, policy_workers
from service.records.published.policy_workers import PolicyWorker

WITHIN: Final = 1.0
"""Seconds that each store has to answer. Later data is left out; ``portcullis_part_up`` shows the cause."""


@dataclass(frozen=True, slots=True)
class InDatabase:
    """Data from the database.

    ``newest`` is the number of the newest policy revision. ``tamperings`` counts revisions that replaced
    lines changed without the service.
    """

    newest: int
    tamperings: int
    workers: Collection[PolicyWorker]
    jobs: Collection[StoredJob]
    entries: Mapping[Log, int]
    verified: Collection[Verification]
    backup: Standing
    mails: MailStanding


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Installation:
    """Reads database and session store; ``parts`` are those of features.

    ``limit`` is the maximum size in bytes of waiting log entries. ``backup_days`` is the maximum age of a
    backup, 0 for no limit.
    """

    database: Database
    store: SessionStore
    parts: Mapping[str, Part]
    all_jobs: Collection[Job]
    _: KW_ONLY
    limit: int
    backup_days: int

    async def samples(self) -> list[Sample]:
        """Return the samples available within ``WITHIN`` seconds; unavailable stores raise nothing."""
        answers = await asyncio.gather(self._of_database(), self._of_store(), return_exceptions=True)
        gathered: list[Sample] = []
        for answer in answers:
            if isinstance(answer, list):
                gathered += answer
            elif not isinstance(answer, Unavailable | TimeoutError):
                raise answer
        return gathered

    async def _of_database(self) -> list[Sample]:
        async with asyncio.timeout(WITHIN), self.database.snapshot() as connection:
            latest = await policy_revisions.latest(connection)
            names = [job.name for job in self.all_jobs]
            stored = await jobs.stored(connection, names)
            facts = InDatabase(
                newest=0 if latest is None else latest.revision,
                tamperings=await policy_revisions.tampering_count(connection),
                workers=await policy_workers.present(connection),
                jobs=[stored[name] for name in names if name in stored],
                entries=await log_chain.lengths(connection),
                verified=await log_chain.latest_verifications(connection),
                mails=await mail.standing(connection),
                backup=await backups.standing(connection, self.backup_days),
            )
            reads = (part.database_samples for part in self.parts.values())
            brought = [await read(connection) for read in reads if read is not None]
        return [*samples_of_database(facts), *chain.from_iterable(brought)]

    async def _of_store(self) -> list[Sample]:
        async with asyncio.timeout(WITHIN):
            sessions, queue, brought = await asyncio.gather(
                self.store.online.count(),
                self.store.log.queue(),
                asyncio.gather(*(part.stored_samples() for part in self.parts.values())),
            )
        return [*samples_of_store(sessions, queue, self.limit), *chain.from_iterable(brought)]


def samples_of_database(facts: InDatabase) -> Iterator[Sample]:
    """Yield the samples from data in the database."""
    yield Sample("portcullis_policy_newest_revision", facts.newest, {})
    yield Sample("portcullis_policy_tamperings_total", facts.tamperings, {})
    behind = sum(worker.revision < facts.newest for worker in facts.workers)
    yield Sample("portcullis_policy_workers", len(facts.workers), {})
    yield Sample("portcullis_policy_workers_behind", behind, {})
    yield from counted("portcullis_node_variants", "aspect", _variants(facts.workers))
    for job in facts.jobs:
        labels = {"job_name": job.job_name}
        yield Sample("portcullis_job_failing", int(job.failing and not job.paused), labels)
        yield Sample("portcullis_job_paused", int(job.paused), labels)
        due = 0.0 if job.due_in is None or not job.is_due else -job.due_in
        yield Sample("portcullis_job_overdue_seconds", due, labels)
        yield Sample("portcullis_job_success_timestamp_seconds", _unix(job.success_time), labels)
    yield from counted("portcullis_log_chain_entries", "log", facts.entries)
    verified = {verification.log: verification for verification in facts.verified}
    for log in get_args(Log):
        last = verified.get(log)
        labels = {"log": log}
        yield Sample(
            "portcullis_log_verification_timestamp_seconds", _unix(last.verify_time if last else None), labels
        )
        yield Sample("portcullis_log_verification_days", last.day_count if last else 0, labels)
        yield Sample("portcullis_log_verification_faulty_days", last.faulty_count if last else 0, labels)
    yield Sample("portcullis_backup_timestamp_seconds", _unix(facts.backup.snapshot_time), {})
    yield Sample("portcullis_backup_overdue_seconds", facts.backup.overdue, {})
    yield Sample("portcullis_mails_waiting", facts.mails.waiting, {})
    yield Sample("portcullis_mails_oldest_seconds", facts.mails.oldest, {})
    yield Sample("portcullis_mails_given_up", facts.mails.given_up, {})


def _unix(moment: datetime | None) -> float:
    """Return Unix time; 0 for None."""
    return 0.0 if moment is None else moment.timestamp()


def _variants(workers: Collection[PolicyWorker]) -> dict[str, int]:
    """Count the versions, and the distinct values of the most varied settings section."""
    reported = [worker.facts for worker in workers if worker.facts is not None]
    sections: dict[str, set[str]] = {}
    for facts in reported:
        for name, digest in facts["settings"].items():
            sections.setdefault(name, set()).add(digest)
    return {
        "version": len({worker.facts and worker.facts["version"] for worker in workers}),
        "settings": max(map(len, sections.values()), default=0),
    }


def samples_of_store(sessions: int, queue: LogQueue, limit: int) -> Iterator[Sample]:
    """Yield the samples from data in the session store."""
    yield Sample("portcullis_sessions_open", sessions, {})
    yield Sample("portcullis_log_queue_entries", queue.entries, {})
    yield Sample("portcullis_log_queue_bytes", queue.size, {})
    yield Sample("portcullis_log_queue_limit_bytes", limit, {})
    yield Sample("portcullis_log_queue_oldest_seconds", queue.oldest, {})
