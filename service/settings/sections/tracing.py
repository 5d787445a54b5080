"""The settings of traces."""

import re
from codecs import BOM_UTF8
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit, urlunsplit

from service.settings.checks import between, not_empty, not_everyone, url
from service.settings.table import Fault, setting
from service.settings.values import Networks, OptionalPath

_HEADER: Final = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]{1,64})=([\t\x20-\x7e]{1,4096})")


def _headers(text: str) -> dict[str, str]:
    """Return headers from a text such as ``api-key=abc,x-tenant=7``; ValueError if it is not of that form."""
    matches = [_HEADER.fullmatch(part.strip()) for part in text.split(",") if part.strip()]
    if None in matches:
        raise ValueError("must be headers such as api-key=…,x-tenant=…, in printable ASCII without commas")
    return {match[1]: match[2].strip() for match in matches if match}


def _header_list(value: str) -> str | None:
    try:
        _headers(value)
    except ValueError as error:
        return str(error)
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tracing:
    """Traces, sent to a collector by OTLP over HTTP; they need the extra `tracing` of the distribution."""

    endpoint: str = setting(
        "",
        check=url("http", "https"),
        help="The collector, such as `http://127.0.0.1:4318`; `/v1/traces` is added to a URL without a path. "
        "Empty: no traces, and nothing of OpenTelemetry is imported.",
    )
    ratio: float = setting(
        0.1,
        check=between(0, 1),
        help="The share of the requests whose traces are recorded: from 0, none, to 1, all. For a "
        "continued trace (`continue_from`), the caller decides.",
    )
    service_name: str = setting(
        "portcullis", check=not_empty, help="The `service.name` of the spans, by which collectors group them."
    )
    headers: str = setting(
        "",
        secret=True,
        check=_header_list,
        help="Headers for the collector, such as `api-key=…,x-tenant=7`.",
    )
    headers_file: OptionalPath = setting(
        None, help="A file with further headers in the same form, read at the start; lines count as commas."
    )
    ca_file: OptionalPath = setting(
        None,
        shown="the authorities that ship with `certifi`",
        help="A PEM file of certificate authorities, for a collector whose certificate others do not know.",
    )
    timeout: int = setting(
        10,
        unit="s",
        check=between(1, 60),
        help="How long one batch of spans is tried; then it is dropped and counted.",
    )
    queue: int = setting(
        4096,
        unit="spans",
        check=between(512, 65_536),
        help="Spans that wait in the memory of one worker, about 2 KiB each; further ones are dropped and "
        "counted.",
    )
    continue_from: Networks = setting(
        (),
        shown="nobody's",
        check=not_everyone,
        help="Networks of peers whose `traceparent` is continued: they choose the trace id and whether "
        "the trace is recorded. A proxy among them must set or remove this header of its own "
        "clients. For everybody else a new trace begins, whose span links to theirs.",
    )

    @property
    def traces_url(self) -> str:
        """The URL that spans are sent to."""
        parts = urlsplit(self.endpoint)
        return urlunsplit(parts._replace(path="/v1/traces")) if parts.path in ("", "/") else self.endpoint

    def all_headers(self) -> dict[str, str]:
        """Return the headers of the setting and of the file; OSError and ValueError if that can't be read."""
        headers = _headers(self.headers)
        if self.headers_file is not None:
            headers |= _headers(
                ",".join(self.headers_file.read_bytes().removeprefix(BOM_UTF8).decode("ascii").splitlines())
            )
        return headers


def file_faults(tracing: Tracing) -> Iterator[Fault]:
    """Yield the faults of the files that the settings name."""
    if tracing.ca_file is not None and not tracing.ca_file.is_file():
        yield Fault("tracing.ca_file", f"is not an existing file: {tracing.ca_file}")
    try:
        tracing.all_headers()
    except OSError as error:
        yield Fault("tracing.headers_file", f"can't be read: {error.strerror}: {tracing.headers_file}")
    except UnicodeDecodeError:
        yield Fault("tracing.headers_file", "is not ASCII text")
    except ValueError as error:
        yield Fault("tracing.headers_file", str(error))
