"""The counts of one worker, by metric name."""

from collections.abc import Iterator

import msgspec

from service.app.container import Container
from service.app.stores import Stores
from service.kernel.metrics import Sample, counted


def worker_samples(container: Container) -> Iterator[Sample]:
    """Yield all samples of a worker; counters with a closed list of labels are present from the start."""
    yield from _policy(container)
    offset = container.stores.sessions.synchronized.offset
    if offset is not None:
        yield Sample("portcullis_clock_offset_seconds", offset, {})
        yield Sample("portcullis_clock_ahead_seconds", container.stores.clock_watch.ahead, {})
    yield from _sign_ins(container)
    yield from _stores(container.stores)
    for (job, outcome), count in container.node.scheduler.counts.items():
        yield Sample("portcullis_job_runs_total", count, {"job_name": job, "outcome": outcome})
    for work in container.node.scheduler.jobs:
        yield from work.samples()
    collector = container.trail.collector
    yield from counted("portcullis_log_entries_total", "outcome", msgspec.structs.asdict(collector.counts))
    yield Sample("portcullis_log_entries_waiting", collector.waiting, {})
    yield Sample("portcullis_log_entries_waiting_bytes", collector.held, {})
    yield from container.node.readiness.samples()
    yield from container.node.environment_checks.samples()
    for part in container.parts.values():
        yield from part.samples()


def _sign_ins(container: Container) -> Iterator[Sample]:
    yield from counted("portcullis_logins_total", "outcome", container.sign_in.logins.outcomes)
    yield from counted("portcullis_refreshes_total", "outcome", container.sign_in.refresh.outcomes)
    yield from counted("portcullis_throttled_total", "limit", container.sign_in.throttle.refused)
    yield from counted("portcullis_session_events_total", "event", container.trail.logins.counts)


def _stores(stores: Stores) -> Iterator[Sample]:
    yield Sample("portcullis_database_failures_total", stores.database.failures, {"pool": "requests"})
    yield Sample("portcullis_database_failures_total", stores.log_database.failures, {"pool": "logs"})
    for pool, usage in (
        ("requests", stores.database.transactions),
        ("reads", stores.database.reads),
        ("logs", stores.log_database.transactions),
    ):
        labels = {"pool": pool}
        yield Sample("portcullis_database_connections", usage.pool.in_use, {**labels, "state": "in_use"})
        yield Sample("portcullis_database_connections", usage.pool.idle, {**labels, "state": "idle"})
        yield Sample("portcullis_database_connections_limit", usage.pool.size, labels)
        yield Sample("portcullis_database_calls_waiting", usage.pool.waiting, labels)
        yield from usage.calls.samples("portcullis_database_call_duration_seconds", labels)
    for labels, pipeline in stores.sessions.calls():
        yield Sample("portcullis_session_store_failures_total", pipeline.failures, labels)
        yield from pipeline.durations.samples("portcullis_session_store_call_duration_seconds", labels)
    for (call, outcome), count in stores.objects.calls.items():
        yield Sample("portcullis_object_store_calls_total", count, {"call": call, "outcome": outcome})
    for call, durations in stores.objects.durations.items():
        yield from durations.samples("portcullis_object_store_call_duration_seconds", {"call": call})


def _policy(container: Container) -> Iterator[Sample]:
    policy, watch = container.policy.live.current, container.policy.watch
    yield Sample("portcullis_policy_revision", policy.revision, {})
    yield Sample("portcullis_policy_lag_seconds", watch.lag, {})
    yield Sample("portcullis_policy_faulty", int(watch.fault is not None), {})
    yield Sample("portcullis_policy_untrusted", int(watch.untrusted is not None), {})
    if container.policy.live.loaded:
        yield Sample("portcullis_policy_load_timestamp_seconds", container.policy.live.loaded, {})
    static_policies = watch.static_policies
    yield Sample("portcullis_policy_static_info", 1, {"digest": static_policies.digest})
    yield Sample("portcullis_policy_workers_differing", static_policies.differing, {})
    yield Sample("portcullis_policy_workers_not_allowed", static_policies.not_allowed, {})
    yield Sample("portcullis_permission_bit_highest", policy.permission_map.highest, {})
