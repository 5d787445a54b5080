"""The application of a worker, made once in the template, so that workers share its memory.

Python counts references in the objects themselves. So a fork copies the page of each object that it reads,
and making the container and the routes reads half of all pages.

The launcher writes the settings of the workers to a file without a name, once the stores run. The template
reads it by the launcher's entry in ``/proc``, which other users can't open, before it forks the first worker.
It connects to nothing. Where it can't make the application, each worker makes its own and reports why.
"""

import gc
import os
import pickle
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any, Final

from service.app import Container, application
from service.authz.publishing.shipped import configured, files_of
from service.kernel.worker_slot import Slot
from service.server.handover import VARIABLE
from service.settings import Settings
from service.web.observability.log_format import configure_logging
from service.web.requests.middleware import RequestMiddleware

Stamps = dict[Path, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Prebuilt:
    """An application that has not started, and the inputs that it was made from."""

    settings: Settings
    stamps: Stamps
    container: Container
    app: RequestMiddleware


def built(settings: Settings) -> Prebuilt | None:
    """Return the application of workers with ``settings``; None where each worker makes its own.

    That is so with extensions, whose code may do anything when it is imported, with traces, which name the
    process, and with a decision log. Raises what a worker would raise.
    """
    policy = settings.policy
    if policy.extensions or settings.tracing.endpoint or policy.decision_log != "off":
        return None
    configure_logging(settings.log.format, settings.log.level)
    stamps = stamps_of(settings)
    shipped = configured(settings)
    container = Container(settings, shipped)
    app = application(container, shipped)
    if stamps_of(settings) != stamps:  # a file has changed while it was read
        return None
    return Prebuilt(settings, stamps, container, app)


def stamps_of(settings: Settings) -> Stamps:
    """Return modification time and size of each file of the policy and each file named by ``settings``."""
    stamps: Stamps = {}
    for path in {*_paths_in(settings), *files_of(settings.policy)}:
        with suppress(OSError):
            status = path.stat()
            stamps[path] = (
                status.st_dev,
                status.st_ino,
                status.st_size,
                status.st_mtime_ns,
                status.st_ctime_ns,
            )
    return stamps


def _paths_in(value: Any) -> Iterator[Path]:
    if isinstance(value, Path):
        if not value.is_dir():
            yield value
    elif is_dataclass(value):
        for field in fields(value):
            yield from _paths_in(getattr(value, field.name))
    elif isinstance(value, tuple | frozenset):
        for each in value:
            yield from _paths_in(each)


class Template:
    """Makes the application before the first fork after the launcher has handed the settings over."""

    def __init__(self, launcher: int, number: str) -> None:
        """``launcher`` is the id of its process, ``number`` that of its file."""
        self._file = Path(f"/proc/{launcher}/fd/{number}")
        self._process = os.getpid()
        self._has_tried = False
        self.prebuilt: Prebuilt | None = None

    def before_fork(self) -> None:
        """Make the application if that was not tried yet; raises nothing."""
        if self._has_tried or os.getpid() != self._process:
            return
        with suppress(Exception):  # each worker fails at the same, and reports it
            if content := self._file.read_bytes():
                self._has_tried = True
                self.prebuilt = built(pickle.loads(content))  # noqa: S301 - the launcher has written it
                gc.collect()
                gc.freeze()  # see service.server.template

    def application_of(self, settings: Settings, slot: Slot) -> RequestMiddleware | None:
        """Return the application for the worker at ``slot``, in its process.

        None if there is none, or if the settings or a file are others since it was made.
        """
        prebuilt = self.prebuilt
        if prebuilt is None or prebuilt.settings != settings or prebuilt.stamps != stamps_of(settings):
            return None
        prebuilt.container.begin_as(slot)
        return prebuilt.app


_templates: Final[list[Template]] = []


def make_before_forks() -> None:
    """Have this process, the template, make the application before it forks a worker."""
    if number := os.environ.pop(VARIABLE, ""):
        template = Template(os.getppid(), number)
        _templates.append(template)
        os.register_at_fork(before=template.before_fork)


def application_of(settings: Settings, slot: Slot | None) -> RequestMiddleware | None:
    """Return the application that the template has made for ``settings``, for the worker at ``slot``."""
    if slot is None or not _templates:
        return None
    return _templates[-1].application_of(settings, slot)
