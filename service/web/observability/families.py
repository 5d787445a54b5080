"""All metrics by name, and the text format for Prometheus. Names and units follow its naming practices."""

from collections.abc import Iterable
from typing import Final, Literal, NamedTuple

from service.kernel.metrics import Sample


class Family(NamedTuple):
    """The type of a metric, its help text, and its labels; those of workers have the label ``worker`` too."""

    kind: Literal["counter", "gauge", "histogram"]
    help: str
    labels: tuple[str, ...] = ()


OF_WORKERS: Final = {
    "portcullis_build_info": Family("gauge", "What runs; the value is 1.", ("version", "python")),
    "portcullis_start_timestamp_seconds": Family("gauge", "When the worker was started, in Unix time."),
    "portcullis_start_duration_seconds": Family("gauge", "Seconds until the worker served."),
    "portcullis_cpu_seconds_total": Family("counter", "Processor time that the worker has used."),
    "portcullis_resident_memory_bytes": Family("gauge", "Resident memory of the worker."),
    "portcullis_open_files": Family("gauge", "Open descriptors of the worker: files and connections."),
    "portcullis_open_files_limit": Family("gauge", "The most descriptors that the worker may have open."),
    "portcullis_http_requests_in_flight": Family("gauge", "Requests that have arrived and are not answered."),
    "portcullis_http_responses_total": Family(
        "counter", "Requests by status; 0: client disconnected.", ("status",)
    ),
    "portcullis_http_requests_total": Family(
        "counter", "Requests by route and status; 0: client disconnected.", ("method", "route", "status")
    ),
    "portcullis_http_request_duration_seconds": Family(
        "histogram", "Seconds from the first byte to the answer.", ("method", "route")
    ),
    "portcullis_denials_total": Family("counter", "Requests denied by the policy, by layer.", ("layer",)),
    "portcullis_logins_total": Family("counter", "Logins that were tried, by outcome.", ("outcome",)),
    "portcullis_refreshes_total": Family("counter", "Refreshes that were tried, by outcome.", ("outcome",)),
    "portcullis_throttled_total": Family("counter", "Attempts that were one too many, by limit.", ("limit",)),
    "portcullis_session_events_total": Family(
        "counter", "What else has happened to sessions, as in the login log.", ("event",)
    ),
    "portcullis_database_connections": Family(
        "gauge", "Open connections to the database, by pool and state.", ("pool", "state")
    ),
    "portcullis_database_connections_limit": Family("gauge", "The most connections of a pool.", ("pool",)),
    "portcullis_database_calls_waiting": Family("gauge", "Calls that wait for a connection.", ("pool",)),
    "portcullis_database_call_duration_seconds": Family(
        "histogram", "Seconds of calls that did not fail, with the wait for a connection.", ("pool",)
    ),
    "portcullis_database_failures_total": Family(
        "counter", "Calls that the database has failed or not answered in time.", ("pool",)
    ),
    "portcullis_session_store_call_duration_seconds": Family(
        "histogram", "Seconds until the session store has answered.", ("call",)
    ),
    "portcullis_session_store_failures_total": Family(
        "counter", "Commands that the session store has not answered in time.", ("call",)
    ),
    "portcullis_object_store_calls_total": Family(
        "counter", "Calls of the object store, by outcome.", ("call", "outcome")
    ),
    "portcullis_object_store_call_duration_seconds": Family(
        "histogram", "Seconds of calls of the object store that did not fail.", ("call",)
    ),
    "portcullis_policy_revision": Family("gauge", "The policy revision that the worker uses."),
    "portcullis_policy_lag_seconds": Family(
        "gauge", "Seconds for which the worker has known of a newer revision; 0: it uses the newest."
    ),
    "portcullis_policy_load_timestamp_seconds": Family(
        "gauge", "When the worker loaded the policy that it uses, in Unix time."
    ),
    "portcullis_policy_faulty": Family(
        "gauge", "1 while the worker can't tell that its policy is the newest, or can't load the newest."
    ),
    "portcullis_policy_untrusted": Family(
        "gauge", "1 while the worker does not trust the newest policy revision, and keeps the one before."
    ),
    "portcullis_policy_static_info": Family(
        "gauge", "The digest of the static policy of the worker's node; the value is 1.", ("digest",)
    ),
    "portcullis_policy_workers_differing": Family(
        "gauge", "Workers of all nodes that decide by another own part of the policy than this one."
    ),
    "portcullis_policy_workers_not_allowed": Family(
        "gauge",
        "Workers of all nodes whose static policy the setting policy.own_digests does not name.",
    ),
    "portcullis_permission_bit_highest": Family(
        "gauge", "The highest bit position of a permission code; -1: none."
    ),
    "portcullis_clock_ahead_seconds": Family(
        "gauge",
        "Seconds by which an instant of the session store was found in the future within an hour, or 0.",
    ),
    "portcullis_clock_offset_seconds": Family(
        "gauge", "Seconds that the session store's clock is ahead of ours."
    ),
    "portcullis_job_runs_total": Family(
        "counter", "Runs of jobs by this worker, by outcome.", ("job_name", "outcome")
    ),
    "portcullis_mails_total": Family(
        "counter", "Attempts of this worker to send mails, by outcome.", ("outcome",)
    ),
    "portcullis_log_entries_total": Family(
        "counter", "Entries of the operation and login logs, by outcome.", ("outcome",)
    ),
    "portcullis_log_entries_waiting": Family(
        "gauge", "Entries that wait in the worker until the session store takes them."
    ),
    "portcullis_log_entries_waiting_bytes": Family("gauge", "Bytes of these entries."),
    "portcullis_decision_events_total": Family(
        "counter", "Events of the decision log, by outcome.", ("outcome",)
    ),
    "portcullis_export_entries_total": Family(
        "counter", "Entries of logs that were exported, by outcome.", ("destination", "outcome")
    ),
    "portcullis_export_lag_seconds": Family(
        "gauge", "Age of the oldest entry that the destination has not got; 0: it has all.", ("destination",)
    ),
    "portcullis_export_dead_letters": Family(
        "gauge", "Entries that the destination has refused, kept to be sent again.", ("destination",)
    ),
    "portcullis_trace_spans_total": Family("counter", "Spans of traces, by outcome.", ("outcome",)),
    "portcullis_part_up": Family(
        "gauge", "Whether a part of readiness was up when it was last checked.", ("part",)
    ),
    "portcullis_disk_free_bytes": Family(
        "gauge", "Free bytes of the file system at a place that the node writes.", ("place",)
    ),
    "portcullis_certificate_begin_timestamp_seconds": Family(
        "gauge", "When the certificate that ends first began, in Unix time.", ("endpoint",)
    ),
    "portcullis_certificate_end_timestamp_seconds": Family(
        "gauge", "When a certificate ends, in Unix time.", ("endpoint",)
    ),
    "portcullis_misforwarded_requests_total": Family(
        "counter",
        "Requests of known callers whose X-Forwarded-For does not fit server.trusted_proxies.",
        ("kind",),
    ),
}
"""Counters end in ``_total``; what only tells a text ends in ``_info`` and is 1."""

OF_ALL: Final = {
    "portcullis_sessions_open": Family("gauge", "Device sessions that are open."),
    "portcullis_policy_newest_revision": Family("gauge", "The newest policy revision."),
    "portcullis_policy_tamperings_total": Family(
        "counter", "Revisions that replaced policy lines or revisions changed or made past the service."
    ),
    "portcullis_policy_workers": Family("gauge", "Workers of all nodes that have reported lately."),
    "portcullis_policy_workers_behind": Family("gauge", "Those that do not use the newest revision."),
    "portcullis_node_variants": Family(
        "gauge",
        "Different versions, and different settings of what nodes must have alike; 1: none differ.",
        ("aspect",),
    ),
    "portcullis_job_failing": Family(
        "gauge", "1 if the last run of a job has failed, and it is not paused.", ("job_name",)
    ),
    "portcullis_job_paused": Family("gauge", "1 while a job is paused.", ("job_name",)),
    "portcullis_job_overdue_seconds": Family("gauge", "Seconds since a job was due.", ("job_name",)),
    "portcullis_job_success_timestamp_seconds": Family(
        "gauge", "When a job was last done, in Unix time; 0: never.", ("job_name",)
    ),
    "portcullis_mails_waiting": Family("gauge", "Mails that wait to be sent."),
    "portcullis_mails_oldest_seconds": Family("gauge", "Age of the oldest of these mails; 0: none."),
    "portcullis_mails_given_up": Family("gauge", "Mails that were given up within a day."),
    "portcullis_log_queue_entries": Family(
        "gauge", "Entries that wait in the session store until the database takes them."
    ),
    "portcullis_log_queue_bytes": Family("gauge", "Bytes of these entries."),
    "portcullis_log_queue_limit_bytes": Family("gauge", "The most bytes that may wait: oplog.stream_limit."),
    "portcullis_log_queue_oldest_seconds": Family("gauge", "Age of the oldest of these entries; 0: none."),
    "portcullis_log_chain_entries": Family("gauge", "Entries in the chains of a log.", ("log",)),
    "portcullis_log_verification_timestamp_seconds": Family(
        "gauge", "When the chains of a log were last verified, in Unix time; 0: never.", ("log",)
    ),
    "portcullis_log_verification_days": Family("gauge", "Days that were verified then.", ("log",)),
    "portcullis_log_verification_faulty_days": Family(
        "gauge", "Days of them that are not as they were written.", ("log",)
    ),
    "portcullis_backup_timestamp_seconds": Family(
        "gauge", "The moment that the newest backup holds, in Unix time; 0: there is none."
    ),
    "portcullis_backup_overdue_seconds": Family(
        "gauge",
        "Seconds since the newest backup is older than database.backup_days; 0: it is not, or may be.",
    ),
}
"""Metrics of the whole installation: every node shows the same, and no worker."""

FAMILIES: Final = {**OF_WORKERS, **OF_ALL}


MEDIA_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

_PARTS: Final = ("_bucket", "_sum", "_count")


def exposition(samples: Iterable[Sample]) -> bytes:
    """Return the samples as text, grouped by metric as the format requires."""
    families: dict[str, list[Sample]] = {name: [] for name in FAMILIES}
    for sample in samples:
        families[_family(sample.name)].append(sample)
    lines = []
    for name, family in FAMILIES.items():
        if families[name]:
            lines += [f"# HELP {name} {family.help}", f"# TYPE {name} {family.kind}"]
            lines += map(_line, families[name])
    return "".join(f"{line}\n" for line in lines).encode()


def _family(name: str) -> str:
    if name in FAMILIES:
        return name
    return next(name.removesuffix(part) for part in _PARTS if name.endswith(part))


def _line(sample: Sample) -> str:
    labels = ",".join(f'{label}="{_escaped(value)}"' for label, value in sample.labels.items())
    return (
        f"{sample.name}{{{labels}}} {sample.value:.17g}" if labels else f"{sample.name} {sample.value:.17g}"
    )


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
