"""The socket that all workers accept from."""

import ctypes
import errno
import socket
import struct
from typing import Final

from service.operator.errors import ListenError
from service.settings import Settings

BACKLOG: Final = 2048

_SO_ATTACH_FILTER: Final = 26  # asm-generic/socket.h
_INSTRUCTION: Final = "HBBI"  # struct sock_filter, linux/filter.h
# A filter of a TCP socket sees the TCP header: bit 2 of byte 13 is SYN (RFC 9293 §3.1).
_WITHOUT_SYN: Final = (
    (0x30, 0, 0, 13),  # load byte 13
    (0x45, 0, 1, 0x02),  # is the bit set?
    (0x06, 0, 0, 0),  # yes: drop it
    (0x06, 0, 0, 0xFFFF),  # no: let it pass
)


def bound_listener(settings: Settings) -> socket.socket:
    """Return the socket that all workers accept from, bound to its address; ``ListenError`` if that is taken.

    Connections are refused until ``listen``: a proxy sends its requests to other nodes during a long start.
    """
    host, port = settings.server.host, settings.server.port
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((host, port))
    except OSError as error:
        bound.close()
        raise _refused(host, port, error) from error
    bound.set_inheritable(True)
    return bound


def listen(bound: socket.socket) -> None:
    """Listen for clients; ``ListenError`` if another program listens on the address by now.

    Clients that connect before the first worker accepts wait for it.
    """
    try:
        bound.listen(BACKLOG)
    except OSError as error:
        host, port = bound.getsockname()[:2]
        raise _refused(host, port, error) from error


def _refused(host: str, port: int, error: OSError) -> ListenError:
    advice = "; --port names another" if error.errno == errno.EADDRINUSE else ""
    return ListenError(f"{host} port {port} can't be listened on: {error.strerror}{advice}")


def drop_new_connections(bound: socket.socket) -> None:
    """Make the kernel ignore new connections to ``bound``; handshakes under way still complete.

    Clients retry within a second, and find the socket closed. Does nothing on a system without such filters:
    a client may then be cut off at the moment when the socket is closed.
    """
    program = b"".join(struct.pack(_INSTRUCTION, *instruction) for instruction in _WITHOUT_SYN)
    held = ctypes.create_string_buffer(program, len(program))
    option = struct.pack("HP", len(_WITHOUT_SYN), ctypes.addressof(held))
    try:
        bound.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, option)
    except OSError:
        return
