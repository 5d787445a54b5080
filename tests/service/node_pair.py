"""Two nodes on the same stores, which are restarted while others call them."""

from pathlib import Path

from tests.service.wire import exchange
from tests.support.ports import free_port
from tests.support.running import Running
from tests.support.waiting import eventually

READY = b"GET /health/ready HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"


class Pair:
    """Two instances on the same stores, each at a port of its own that it keeps."""

    def __init__(self, folder: Path, variables: dict[str, str]) -> None:
        self._folder = folder
        self._variables = variables
        self.ports = [free_port(), free_port()]
        self.instances = [self._started(port) for port in self.ports]

    def restart(self, number: int) -> None:
        """Stop one and start it again; return when it is ready."""
        assert self.instances[number].stop() == 0
        self.instances[number] = self._started(self.ports[number])

    def stop(self) -> None:
        """Stop both."""
        for instance in self.instances:
            instance.stop()

    def _started(self, port: int) -> Running:
        service = Running(self._folder, "--port", str(port), "--workers", "1", **self._variables)
        service.wait()
        assert eventually(lambda: exchange(port, READY)[0].status == 200)
        return service
