"""What a worker depends on beside the stores: file systems, certificates, proxies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from service.diagnosis.certificates import CertificateWatch
from service.diagnosis.disks import DiskWatch
from service.kernel.metrics import Sample, counted
from service.settings import Settings
from service.web.observability.forwarding import ForwardingWatch
from service.web.observability.readiness import Check


class EnvironmentChecks:
    """Watches them for one worker, by its settings."""

    def __init__(self, settings: Settings) -> None:
        self.disks = DiskWatch(settings)
        self.certificates = CertificateWatch(settings)
        self.forwarding = ForwardingWatch(settings.server.trusted_proxies)
        self.checks: Mapping[str, Check] = {
            "disk": self.disks.health,
            "certificates": self.certificates.health,
            "proxy": self.forwarding.health,
        }

    def samples(self) -> Iterator[Sample]:
        """Yield what the last looks have found."""
        for place, free in self.disks.free():
            yield Sample("portcullis_disk_free_bytes", free, {"place": place})
        for of, period in self.certificates.first_ends().items():
            yield Sample(
                "portcullis_certificate_begin_timestamp_seconds", period.begin.timestamp(), {"endpoint": of}
            )
            yield Sample(
                "portcullis_certificate_end_timestamp_seconds", period.end.timestamp(), {"endpoint": of}
            )
        yield from counted("portcullis_misforwarded_requests_total", "kind", self.forwarding.counts)
