"""The object store that fails: an S3 server behind a proxy."""

import time

from obstore.store import S3Store

from tests.benchmarks.fault_matrix.mounts import NEEDS_MOUNT, fill, unfill
from tests.benchmarks.fault_matrix.proxy import Proxy
from tests.benchmarks.fault_matrix.stores import FaultyStore
from tests.support.s3 import ACCESS_KEY, BUCKET, SECRET_KEY, S3Server

_DOWN = 1.0  # seconds until a killed server is started again


class FaultyObjectStore(FaultyStore):
    """rclone's S3 server; ``limited`` tells whether its bucket is on a file system of limited size."""

    name = "objects"

    def __init__(self, server: S3Server, *, limited: bool) -> None:
        super().__init__(server, Proxy(server.port))
        self._server = server
        self._limited = limited
        self._saved: dict[str, bytes] = {}
        self.endpoint = f"http://127.0.0.1:{self.proxy.port}"

    def impossible(self, fault: str) -> str | None:
        """Say why this fault can't be made here."""
        return NEEDS_MOUNT if fault == "full" and not self._limited else None

    def _inject(self, fault: str) -> None:
        if fault == "read-only":
            self._server.stop()
            self._server.start("--read-only")
        elif fault == "full":
            fill(self._server.root)
        elif fault == "emptied":
            client = self._client()
            for key in self._server.keys():  # noqa: SIM118 - it is no dict
                self._saved[key] = client.get(key).bytes().to_bytes()
                client.delete(key)

    def _heal(self, fault: str) -> None:
        if fault == "read-only":
            self._server.stop()
            self._server.start()
        elif fault == "full":
            unfill(self._server.root)
        elif fault == "emptied":
            client = self._client()
            while self._saved:
                client.put(*self._saved.popitem())

    def _kill(self) -> None:
        self._server.stop()
        time.sleep(_DOWN)
        self._server.start()

    def _answers(self) -> bool:
        return True  # it was started again

    def _pids(self) -> list[int]:
        return [self._server.pid]

    def _client(self) -> S3Store:
        return S3Store(
            BUCKET,
            endpoint=self._server.endpoint,
            region="us-east-1",
            access_key_id=ACCESS_KEY,
            secret_access_key=SECRET_KEY,
            client_options={"allow_http": True},
        )
