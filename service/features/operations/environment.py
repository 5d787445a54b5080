"""The environment of a worker other than the stores: disk space, and certificates of servers."""

from collections.abc import Iterator, Mapping

from service.features.operations.certificates import CertificateWatch
from service.features.operations.disks import DiskWatch
from service.kernel.metrics import Sample
from service.settings import Settings
from service.web.observability.readiness import Check


class Environment:
    """Watches disks and certificates for one worker, by its settings."""

    def __init__(self, settings: Settings) -> None:
        self._disks = DiskWatch(settings)
        self._certificates = CertificateWatch(settings)
        self.checks: Mapping[str, Check] = {
            "disk": self._disks.health,
            "certificates": self._certificates.health,
        }

    def samples(self) -> Iterator[Sample]:
        """Yield the results of the last checks."""
        for place, free in self._disks.free():
            yield Sample("portcullis_disk_free_bytes", free, {"place": place})
        for of, period in self._certificates.first_ends().items():
            yield Sample(
                "portcullis_certificate_begin_timestamp_seconds", period.begin.timestamp(), {"endpoint": of}
            )
            yield Sample(
                "portcullis_certificate_end_timestamp_seconds", period.end.timestamp(), {"endpoint": of}
            )
