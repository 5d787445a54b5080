"""A script: a server with one worker that counts the calls of its main thread; the service, or bare Falcon.

SIGUSR1 begins to count, and SIGUSR2 writes what was counted to a file as JSON: the calls of each function, in
Python and in C. A coroutine counts once each time it is resumed. The tasks that a worker has beside its
requests are left out.
"""

import asyncio
import json
import signal
import sys
from collections import Counter
from contextlib import suppress
from pathlib import Path
from types import CodeType
from typing import Any

import uvicorn

from service.authn import passwords
from service.kernel.origin import ORIGIN
from service.server.http.answering import Answering
from tests.benchmarks.worker import work
from tests.support.cheap_hashes import cheap_hasher


class Count:
    """Counts calls by a profile hook of the thread in which signals are handled."""

    def __init__(self, target: Path) -> None:
        """``target`` is the file that the counts are written to; while counting it is empty."""
        self._target = target
        self._python: Counter[CodeType] = Counter()
        self._c: Counter[str] = Counter()

    def begin(self, *_signal: object) -> None:
        """Begin anew."""
        self._python, self._c = Counter(), Counter()
        self._target.touch()
        sys.setprofile(self._hook)

    def end(self, *_signal: object) -> None:
        """Write the counts since ``begin``: the number of calls by name, of ``python`` and of ``c``."""
        sys.setprofile(None)
        python = {f"{code.co_filename}:{code.co_qualname}": number for code, number in self._python.items()}
        written = self._target.with_suffix(".part")
        written.write_text(json.dumps({"python": python, "c": self._c}))
        written.rename(self._target)

    def _hook(self, frame: Any, event: str, argument: Any) -> None:
        if event not in ("call", "c_call") or not _is_for_a_request():
            return
        if event == "call":
            self._python[frame.f_code] += 1
        else:
            # A bound method is a new object at each call; its names stay.
            owner = getattr(argument, "__self__", None)
            place = owner.__name__ if isinstance(owner, type) else type(owner).__name__
            self._c[f"{place}.{argument.__name__}"] += 1


_ANSWERING = ("run_asgi", Answering._answer.__name__)
"""The coroutines of the tasks that answer requests: uvicorn's, and the service's."""


def _is_for_a_request() -> bool:
    """Return whether what runs now is a request, its connection, or another callback of the loop."""
    if ORIGIN.get() is not None:
        return True
    with suppress(RuntimeError):  # no loop runs
        task = asyncio.current_task()
        return task is None or getattr(task.get_coro(), "__name__", "") in _ANSWERING
    return False


def bare(port: int) -> None:
    """Serve bare Falcon as the other benchmarks do."""
    uvicorn.run(
        "tests.benchmarks.apps:bare",
        factory=True,
        loop="uvloop",
        http="httptools",
        port=port,
        access_log=False,
        proxy_headers=False,
        server_header=False,
    )


if __name__ == "__main__":
    kind, chosen_port, file = sys.argv[1:]
    # Other threads hash, whose calls are not counted.
    passwords.PasswordHasher = cheap_hasher  # type: ignore[attr-defined, assignment]
    count = Count(Path(file))
    signal.signal(signal.SIGUSR1, count.begin)
    signal.signal(signal.SIGUSR2, count.end)
    {"service": work, "bare": bare}[kind](int(chosen_port))
