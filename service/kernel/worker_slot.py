"""The place of a worker in its node."""

import socket
from collections.abc import Mapping
from typing import Any, NamedTuple


class Slot(NamedTuple):
    """The place of a worker in its node: its number, from 1, and the boards of the node.

    A board is memory that the workers share, by the name of the feature that added it. ``token`` is part of
    the name of the present worker, and ``former`` are the names of its predecessors: a killed worker could
    not report its end.
    """

    number: int
    boards: Mapping[str, Any]
    token: str = ""
    former: tuple[str, ...] = ()

    def name_of(self, pid: int) -> str:
        """Return the name by which all nodes know the worker that has this place as process ``pid``.

        Linux containers may share a host name, and each has a process 1.
        """
        return f"{socket.gethostname()}:{pid}:{self.token}"
