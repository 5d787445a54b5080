"""The text format of metrics for Prometheus and compatible systems (exposition format 0.0.4)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from msgspec import Struct

MEDIA_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

FAMILIES: Final = {
    "portcullis_http_requests_total": ("counter", "Requests by route and status; 0: client disconnected."),
    "portcullis_http_request_duration_seconds": ("histogram", "Seconds from the first byte to the answer."),
    "portcullis_denials_total": ("counter", "Requests denied by the policy, by layer."),
    "portcullis_policy_revision": ("gauge", "The policy revision that the worker uses."),
    "portcullis_policy_own_info": ("gauge", "The digest of the own part of the policy of the worker's node."),
    "portcullis_policy_workers_differing": (
        "gauge",
        "Workers of all nodes that decide by another own part of the policy than this one.",
    ),
    "portcullis_policy_workers_not_allowed": (
        "gauge",
        "Workers of all nodes whose own part of the policy the setting policy.own_digests does not name.",
    ),
    "portcullis_policy_tamperings_total": (
        "counter",
        "Revisions that replaced policy lines which somebody had changed past the service.",
    ),
    "portcullis_permission_bit_highest": (
        "gauge",
        "The highest bit position of a permission code; -1: none.",
    ),
    "portcullis_clock_offset_seconds": ("gauge", "Seconds that the session store's clock is ahead of ours."),
    "portcullis_job_runs_total": ("counter", "Runs of jobs by this worker, by outcome."),
    "portcullis_job_failing": ("gauge", "Whether the last run of a job has failed, on any node."),
    "portcullis_job_success_time_seconds": ("gauge", "When a job was last done, in Unix time."),
    "portcullis_log_entries_total": ("counter", "Entries of the operation and login logs, by outcome."),
    "portcullis_decision_events_total": ("counter", "Events of the decision log, by outcome."),
    "portcullis_resident_memory_bytes": ("gauge", "Resident memory of the worker."),
    "portcullis_cpu_seconds_total": ("counter", "Processor time that the worker has used."),
    "portcullis_start_time_seconds": ("gauge", "Start time of the worker, in seconds since the epoch."),
}
"""All metrics by name, with type and help text."""

_PARTS: Final = ("_bucket", "_sum", "_count")


class Sample(Struct, array_like=True):
    """One value of a metric, with its labels."""

    name: str
    value: float
    labels: dict[str, str]


def exposition(samples: Iterable[Sample]) -> bytes:
    """Return the samples as text, grouped by metric as the format requires."""
    families: dict[str, list[Sample]] = {name: [] for name in FAMILIES}
    for sample in samples:
        families[_family(sample.name)].append(sample)
    lines = []
    for name, (kind, help_text) in FAMILIES.items():
        if families[name]:
            lines += [f"# HELP {name} {help_text}", f"# TYPE {name} {kind}"]
            lines += map(_line, families[name])
    return "".join(f"{line}\n" for line in lines).encode()


def _family(name: str) -> str:
    if name in FAMILIES:
        return name
    return next(name.removesuffix(part) for part in _PARTS if name.endswith(part))


def _line(sample: Sample) -> str:
    labels = ",".join(f'{label}="{_escaped(value)}"' for label, value in sample.labels.items())
    return f"{sample.name}{{{labels}}} {sample.value:.17g}"


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
