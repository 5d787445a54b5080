"""Send entries to a syslog server: RFC 5424 messages by TCP (RFC 6587 §3.4.1), TLS (RFC 5425) or a socket.

Syslog has no acknowledgment. With TCP and TLS, each batch has its own connection. This side ends its part and
waits for the server's end, which follows once the server has read everything. A server that stops earlier
resets the connection, and the batch is sent again.
"""

import asyncio
import errno
import json
import socket
import ssl
from collections.abc import Sequence
from pathlib import Path
from time import monotonic
from typing import Any, Final
from urllib.parse import urlsplit

from service import __version__
from service.features.export.entry import Encoding, Entry, Failed, Refused, encoded_all
from service.settings import Destination

_AUDIT: Final = 13  # the facility "log audit" (RFC 5424 §6.2.1)
_WARNING, _INFORMATIONAL = 4, 6
_FAILED_STATUS: Final = 400
_ORIGIN: Final = f'[origin software="portcullis" swVersion="{__version__}"]'  # RFC 5424 §7.2
_MSGIDS: Final = {"operations": "OPERATION", "logins": "LOGIN", "decisions": "DECISION"}


class Syslog:
    """Sends each entry as one message, whose text is its JSON in ASCII."""

    def __init__(self, destination: Destination, encoding: Encoding) -> None:
        self._transport = destination.transport
        self._path = destination.path
        parts = urlsplit(destination.url)
        self._address = (parts.hostname or "", parts.port or 0)
        self._timeout = destination.timeout
        self._encoding = encoding
        self._host = host_name(socket.gethostname())
        self._trusted: ssl.SSLContext | None = None
        if self._transport == "syslog+tls":
            self._trusted = _trusted(destination.ca_file)

    async def send(self, entries: Sequence[Entry]) -> None:
        """Send ``entries``; see ``Receiver``."""
        messages = await encoded_all(entries, self._message)
        work = self._to_local if self._transport == "syslog+unix" else self._to_server
        try:
            async with asyncio.timeout(self._timeout):
                await asyncio.to_thread(work, messages)
        except TimeoutError:
            raise Failed(f"the syslog server has not accepted it within {self._timeout:g} s") from None
        except ssl.SSLCertVerificationError as error:
            raise Failed(f"the server's certificate is not accepted: {error.verify_message}") from None
        except OSError as error:
            if _is_cut(error):
                raise Failed(
                    "the syslog server closed the connection without close_notify (RFC 5425)"
                ) from None
            reason = error.strerror or type(error).__name__
            raise Failed(f"the syslog server has not accepted it: {reason}") from None

    async def close(self) -> None:
        """Do nothing: no connection stays open between two batches."""

    def _message(self, entry: Entry) -> bytes:
        return message(entry, self._encoding(entry), self._host)

    def _to_server(self, messages: Sequence[bytes]) -> None:
        with socket.create_connection(self._address, timeout=self._timeout) as plain:
            if self._trusted is None:
                _exchange(plain, messages)
                return
            with self._trusted.wrap_socket(plain, server_hostname=self._address[0]) as secured:
                secured.sendall(_framed(messages))
                secured.unwrap()  # close_notify, which the server must answer (RFC 5425 §4.4)

    def _to_local(self, messages: Sequence[bytes]) -> None:
        """Send to the socket of a local server: datagrams, or a stream if it takes no datagrams."""
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as datagrams:
                datagrams.settimeout(self._timeout)
                datagrams.connect(self._path)
                for payload in messages:
                    datagrams.send(payload)
        except OSError as error:
            if error.errno == errno.EMSGSIZE:
                raise Refused("the socket does not accept messages of this length") from None
            if error.errno != errno.EPROTOTYPE:
                raise
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as stream:
                stream.settimeout(self._timeout)
                stream.connect(self._path)
                _exchange(stream, messages)


def _trusted(ca_file: Path | None) -> ssl.SSLContext:
    """Return a context that detects a truncated TLS connection; raises ``Failed``."""
    try:
        context = ssl.create_default_context(cafile=None if ca_file is None else str(ca_file))
    except (OSError, ssl.SSLError) as error:
        raise Failed(f"the ca_file can't be used: {type(error).__name__}") from None
    # With OpenSSL 3, Python 3.11.2 otherwise takes a truncation for the end of TLS.
    context.options &= ~getattr(ssl, "OP_IGNORE_UNEXPECTED_EOF", 0)
    return context


def _is_cut(error: OSError) -> bool:
    """Return true if the connection ended before close_notify.

    Python 3.11.2 has no exception class for this error of OpenSSL 3.
    """
    return isinstance(error, ssl.SSLEOFError) or (
        isinstance(error, ssl.SSLError) and error.reason == "UNEXPECTED_EOF_WHILE_READING"
    )


def _exchange(stream: socket.socket, messages: Sequence[bytes]) -> None:
    """Send ``messages``, end this side, and wait for the server's end; raises OSError on a reset.

    The whole exchange is limited by the timeout of ``stream``, so that a server that sends data slowly cannot
    hold the thread.
    """
    until = monotonic() + (stream.gettimeout() or 0.0)
    stream.sendall(_framed(messages))
    stream.shutdown(socket.SHUT_WR)
    while stream.recv(4096):
        left = until - monotonic()
        if left <= 0:
            raise TimeoutError
        stream.settimeout(left)


def message(entry: Entry, text: bytes, host: str) -> bytes:
    """Return the message of ``entry`` with the JSON ``text`` (RFC 5424 §6), in ASCII."""
    if not text.isascii():
        text = json.dumps(json.loads(text), separators=(",", ":")).encode("ascii")
    severity = _WARNING if has_failed(entry) else _INFORMATIONAL
    head = f"<{8 * _AUDIT + severity}>1 {entry.time} {host} portcullis - {_MSGIDS[entry.log]} {_ORIGIN} "
    return head.encode("ascii") + text


def has_failed(entry: Entry) -> bool:
    """Return true if the operation of ``entry`` was refused or failed."""
    members: Any = entry.entry
    if entry.log == "operations":
        return bool(members["status"] >= _FAILED_STATUS)
    return members.get("outcome") in ("failure", "deny")


def host_name(name: str) -> str:
    """Return ``name`` as HOSTNAME of a message: visible ASCII, at most 255 characters; ``-`` if empty."""
    visible = "".join(character for character in name if "!" <= character <= "~")
    return visible[:255] or "-"


def _framed(messages: Sequence[bytes]) -> bytes:
    """Return ``messages``, each preceded by its length in bytes (RFC 6587 §3.4.1)."""
    return b"".join(b"%d %b" % (len(payload), payload) for payload in messages)
