"""An application behind a real server and a real socket, as the service is served."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import uvicorn

from service.server.http import HttpProtocol
from service.server.shares import alone
from service.server.stop_order import StopOrder
from service.server.worker import WorkerServer
from service.settings import Server, Settings
from service.web.requests.middleware import RequestMiddleware


@asynccontextmanager
async def served(app: RequestMiddleware) -> AsyncIterator[int]:
    """Serve ``app`` on a free port and yield the port."""
    config = uvicorn.Config(
        app,
        http="httptools",
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
    )
    server = uvicorn.Server(config)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        serve = asyncio.create_task(server.serve([listener]))
        try:
            yield listener.getsockname()[1]
        finally:
            server.should_exit = True
            await serve


@asynccontextmanager
async def strictly_served(app: RequestMiddleware) -> AsyncIterator[int]:
    """Serve ``app`` by the server of a worker, which refuses malformed requests itself; yield the port."""
    config = uvicorn.Config(
        app,
        http=HttpProtocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
    )
    settings = Settings(server=Server(stop_grace=0.0))
    listener = socket.create_server(("127.0.0.1", 0))
    server = WorkerServer(config, listener, settings, lambda: None, order=StopOrder(), share=alone())
    serving = asyncio.create_task(server.serve())
    try:
        yield listener.getsockname()[1]
    finally:
        server.should_exit = True
        await serving
