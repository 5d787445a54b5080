"""Child processes of the launcher: forked from a template that has imported the service once.

The launcher stays small, and a child starts without the second of processor time that the imports take. The
template is the fork server of ``multiprocessing``: it starts with the first child, and ends when the launcher
and all children have ended.
"""

import multiprocessing
import os
import signal
import socket
import sys
import tempfile
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final

import service
from service.files.connections import modules_of
from service.kernel.worker_slot import Slot
from service.server.handover import OFF
from service.server.shares import Share
from service.server.stop_order import StopOrder
from service.settings import Settings

processes: Final = multiprocessing.get_context("forkserver")
"""Makes the processes and pipes of the launcher."""
_TEMPLATE: Final = "service.server.template"
processes.set_forkserver_preload([_TEMPLATE])

_LONGEST: Final = 107 - len("/pymp-12345678/listener-12345678")  # sun_path of unix(7), less its closing NUL


def tell_the_template(settings: Settings) -> None:
    """Have the template import the modules for these settings. Call it before the first child.

    The template comes last, since it freezes the imported objects. It receives the features that are off, and
    does not import them.
    """
    os.environ[OFF] = ",".join(settings.features.off)
    processes.set_forkserver_preload([*modules_of(settings.objstore), _TEMPLATE])


def import_what_the_launcher_does() -> None:
    """Have the template import from the folders of the launcher alone. Call it before the first child.

    ``python -c`` starts it, and searches the current folder first: a package ``service`` there would replace
    ours. If our package itself comes from the first folder of the path, that folder is added to
    ``PYTHONPATH``.
    """
    home = str(Path(service.__file__).parents[1])
    if not sys.flags.safe_path and sys.path[0] == home:
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (home, os.environ.get("PYTHONPATH"))))
    os.environ["PYTHONSAFEPATH"] = "1"


def use_short_sockets() -> None:
    """Have the socket of the template in ``/tmp`` if it would be too long in the usual temporary folder.

    Call it before the first child. The socket is in a folder for its owner only.
    """
    if len(os.fsencode(tempfile.gettempdir())) > _LONGEST:
        tempfile.tempdir = "/tmp"  # noqa: S108 - a folder is made in it, with a random name, as mkdtemp does


def work(
    listener: socket.socket,
    launcher: Connection,
    settings: Settings,
    slot: Slot,
    *,
    order: StopOrder,
    share: Share,
) -> None:
    """Run a worker: see ``service.server.worker.run``. Returns at once if the service stops already."""
    _obey_signals()
    if order.is_given:
        return
    from service.server.worker import run

    run(listener, launcher, settings, slot, order=order, share=share)


def prepare(launcher: Connection, settings: Settings) -> None:
    """Check and prepare a start: see ``service.server.prepare.run``."""
    _obey_signals()
    from service.server.prepare import run

    run(launcher, settings)


def _obey_signals() -> None:
    """Undo what the template does: it ignores the signals that end the service."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
