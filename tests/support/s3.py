"""A real S3 server that checks signatures: ``rclone serve s3`` on a folder, in a process of its own."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.ports import free_port
from tests.support.waiting import eventually, freeze

ACCESS_KEY = "AKIDTESTS"
SECRET_KEY = "0p3n-the-gate-of-the-store"
BUCKET = "portcullis"

_PARTS = ".rclone_temp_multipart_"
_RCLONE = Path(sys.executable).with_name("rclone")


class S3Server:
    """A server that can be stopped, frozen and started again at the same address."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.root = folder / "buckets"
        (self.root / BUCKET).mkdir(parents=True, exist_ok=True)
        self.port = free_port()
        self.start()

    @property
    def endpoint(self) -> str:
        """The URL of the server."""
        return f"http://127.0.0.1:{self.port}"

    def variables(self, **changed: str) -> dict[str, str]:
        """Return the settings of a service that uses this server."""
        return {
            "OBJSTORE_ENDPOINT": self.endpoint,
            "OBJSTORE_BUCKET": BUCKET,
            "OBJSTORE_ACCESS_KEY": ACCESS_KEY,
            "OBJSTORE_SECRET_KEY": SECRET_KEY,
            "PORTCULLIS_OBJSTORE__TIMEOUT": "2",
            **changed,
        }

    @property
    def pid(self) -> int:
        """The id of the process that was started last."""
        return self._process.pid

    def start(self, *options: str) -> None:
        """Start it with further options of rclone, and return when it answers."""
        words = [str(_RCLONE), "serve", "s3", "--addr", f"127.0.0.1:{self.port}", *options, str(self.root)]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                words,
                env={
                    "HOME": str(self._folder),
                    "PATH": os.environ["PATH"],
                    "RCLONE_CONFIG": "/dev/null",
                    "RCLONE_AUTH_KEY": f'"{ACCESS_KEY},{SECRET_KEY}"',
                },
                stdout=log,
                stderr=log,
            )
        assert eventually(self._answers), (self._folder / "log").read_text()

    def stop(self) -> None:
        """End it as a crash would."""
        self._process.kill()
        self._process.wait()

    def freeze(self) -> None:
        """Have it accept connections and say nothing; return once it has stopped."""
        freeze(self._process.pid)

    def thaw(self) -> None:
        """Have it go on."""
        self._process.send_signal(signal.SIGCONT)

    def keys(self) -> list[str]:
        """Return the keys of all objects; parts that belong to none, which no list shows, are left out."""
        bucket = self.root / BUCKET
        files = (path for path in bucket.rglob("*") if path.is_file() and not path.name.startswith(_PARTS))
        return sorted(str(path.relative_to(bucket)) for path in files)

    def _answers(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0


@contextmanager
def s3_server(place: Path | None = None) -> Iterator[S3Server]:
    """Run a server with a bucket in the folder ``buckets`` of ``place``; without one, in a new folder."""
    with tempfile.TemporaryDirectory(prefix="pc-s3-") as folder:
        server = S3Server(place or Path(folder))
        try:
            yield server
        finally:
            server.stop()
