"""Runs the tests in several processes, which are forked once the tests have been collected.

To import all tests takes ten seconds of processor time, and to collect them five more. Forks pay nothing of
it, and share the memory of what was imported.
"""

from __future__ import annotations

import multiprocessing
import os
import traceback
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, Final, Literal

import pytest

from tests.support.ports import PROCESS
from tests.support.schedule import bundles, processes

_PATIENCE: Final = 60.0
"""Seconds in which a process ends its servers."""
_Kind = Literal["more", "starts", "report", "ended", "broken"]
"""What a process sends: it needs a bundle, starts a test, has a report, has ended, or failed beside tests."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``-n``."""
    group = parser.getgroup("parallel")
    group._addoption("-n", "--numprocesses", default="0", help="processes, or auto; 0: all tests in this one")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Run the tests in forks, if more than one is asked for and there is work for them."""
    option = session.config.option
    if (
        option.collectonly
        or option.usepdb
        or (session.testsfailed and not option.continue_on_collection_errors)
    ):
        return None
    asked = processes() if option.numprocesses == "auto" else int(option.numprocesses)
    work = bundles([item.nodeid for item in session.items])
    if min(asked, len(work)) < 2:
        return None
    run = _Run(session, deque(work))
    try:
        run.to_the_end(min(asked, len(work)))
    finally:
        run.close()
    return True


@dataclass(eq=False)
class _Fork:
    """A process that runs tests: its tests that have not ended, and the one that runs."""

    connection: Connection
    process: BaseProcess
    left: list[int] = field(default_factory=list)
    running: int | None = None


class _Run:
    """The processes of a run, and the bundles that wait for one."""

    def __init__(self, session: pytest.Session, work: deque[list[int]]) -> None:
        self._session, self._work = session, work
        self._forks: list[_Fork] = []
        self._started = 0

    def to_the_end(self, count: int) -> None:
        """Run all bundles in ``count`` processes; pytest's exceptions end the run before."""
        for _ in range(count):
            self._start()
        while self._forks:
            ready = wait([fork.connection for fork in self._forks])
            for fork in [fork for fork in self._forks if fork.connection in ready]:
                self._listen(fork)
            if self._session.shouldfail:
                raise self._session.Failed(self._session.shouldfail)
            if self._session.shouldstop:
                raise self._session.Interrupted(self._session.shouldstop)

    def close(self) -> None:
        """Let the processes that are left end what they have started, and wait for them."""
        for fork in self._forks:
            fork.connection.close()
        for fork in self._forks:
            _wait_for(fork)

    def _start(self) -> None:
        here, there = multiprocessing.Pipe()
        foreign = [here, *(fork.connection for fork in self._forks)]
        process = multiprocessing.get_context("fork").Process(
            target=_serve, args=(self._session, there, foreign, self._started)
        )
        process.start()
        there.close()
        self._forks.append(_Fork(here, process))
        self._started += 1

    def _listen(self, fork: _Fork) -> None:
        try:
            kind, content = fork.connection.recv()
        except (EOFError, OSError):
            self._crashed(fork)
            return
        match kind:
            case "more":
                bundle = self._work.popleft() if self._work else []
                fork.left += bundle
                fork.connection.send(bundle)
            case "starts":
                fork.running = content
            case "report":
                self._note(fork, content)
            case "ended":
                self._forget(fork)
            case _:
                raise RuntimeError(content)

    def _note(self, fork: _Fork, content: dict[str, Any]) -> None:
        hook = self._session.config.hook
        report = hook.pytest_report_from_serializable(config=self._session.config, data=content)
        hook.pytest_runtest_logreport(report=report)
        if report.when == "teardown" and fork.running is not None:
            item = self._session.items[fork.running]
            fork.left.remove(fork.running)
            fork.running = None
            hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)

    def _crashed(self, fork: _Fork) -> None:
        """Report the test that ran as failed, and run the others of its bundle in a new process."""
        self._forget(fork)
        if fork.running is not None:
            item = self._session.items[fork.running]
            fork.left.remove(fork.running)
            text = f"process {fork.process.pid} ended in this test, with status {fork.process.exitcode}"
            report = pytest.TestReport(item.nodeid, item.location, {}, "failed", text, "call")
            item.ihook.pytest_runtest_logreport(report=report)
        if fork.left:
            self._work.appendleft(fork.left)
        if self._work:
            self._start()

    def _forget(self, fork: _Fork) -> None:
        self._forks.remove(fork)
        fork.connection.close()
        _wait_for(fork)


def _wait_for(fork: _Fork) -> None:
    fork.process.join(_PATIENCE)
    if fork.process.exitcode is None:
        fork.process.kill()
        fork.process.join()


def _serve(
    session: pytest.Session, connection: Connection, foreign: Sequence[Connection], number: int
) -> None:
    """Run bundles until there is none left."""
    for other in foreign:  # nobody would notice the end of a process whose connections another one holds
        other.close()
    ended: tuple[_Kind, str | None] = "ended", None
    try:
        _become(session.config, number)
        session.config.pluginmanager.register(_Reporter(session.config, connection))
        with suppress(KeyboardInterrupt, BrokenPipeError, ConnectionResetError, EOFError):  # the run is over
            _run(session, connection)
        session.config.hook.pytest_sessionfinish(session=session, exitstatus=0)
        session.config._ensure_unconfigure()
    except BaseException:  # noqa: BLE001 - the other process raises it
        ended = "broken", traceback.format_exc()
    with suppress(OSError):
        connection.send(ended)


def _become(config: pytest.Config, number: int) -> None:
    """Make a fork one of several processes, for plugins and fixtures, with output of its own."""
    os.environ[PROCESS] = str(number)
    config.workerinput = {"workerid": f"gw{number}"}  # type: ignore[attr-defined]  # as plugins know it of pytest-xdist
    config.pluginmanager.unregister(name="terminalreporter")
    capture: Any = config.pluginmanager.getplugin("capturemanager")
    capture.stop_global_capturing()
    capture.start_global_capturing()
    capture.suspend_global_capture()
    factory: Any = config._tmp_path_factory  # type: ignore[attr-defined]
    factory._basetemp = factory.mktemp(f"process{number}", numbered=False)


class _Reporter:
    """Sends reports to the process that prints them."""

    def __init__(self, config: pytest.Config, connection: Connection) -> None:
        self._config, self._connection = config, connection

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Send a report."""
        content = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        self._connection.send(("report", content))


def _run(session: pytest.Session, connection: Connection) -> None:
    given = _handed_out(connection)
    now = next(given, None)
    while now is not None:
        following = next(given, None)  # before the test: it keeps the fixtures that the next one needs
        connection.send(("starts", now))
        item = session.items[now]
        after = None if following is None else session.items[following]
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
        now = following


def _handed_out(connection: Connection) -> Iterator[int]:
    while True:
        connection.send(("more", None))
        bundle: list[int] = connection.recv()
        if not bundle:
            return
        yield from bundle
