"""A script: a worker as the launcher starts it, on a port of the loopback address, without a launcher."""

import dataclasses
import multiprocessing
import os
import sys

from service.server.listening import bound_listener, listen
from service.server.shares import alone
from service.server.stop_order import StopOrder
from service.server.worker import run
from service.settings import load


def work(port: int) -> None:
    """Serve ``port`` with the settings of the environment until a signal."""
    settings = load(os.environ)
    server = dataclasses.replace(settings.server, host="127.0.0.1", port=port)
    settings = dataclasses.replace(settings, server=server)
    _heard, heartbeats = multiprocessing.Pipe(duplex=False)
    bound = bound_listener(settings)
    listen(bound)
    run(bound, heartbeats, settings, None, order=StopOrder(), share=alone())


if __name__ == "__main__":
    work(int(sys.argv[1]))
