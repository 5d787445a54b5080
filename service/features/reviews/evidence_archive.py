"""Archives of evidence: JSON, tables as CSV, a printable page, and log entries with their chains."""

import csv
import io
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import cache
from hashlib import sha256
from html import escape
from pathlib import Path
from typing import Any, Final

import msgspec

import service
from service.audit.key_chain import Chain
from service.features.audit_proof import store_chain as log_chain
from service.features.audit_proof.rows import COLUMNS, opened
from service.features.audit_proof.store_chain import Mentioned
from service.features.reviews.evidence_content import Content, Kind, Table, encoded
from service.kernel.clock import rfc3339
from service.kernel.text import escape_formula
from service.records.database.transactions import Connection
from service.records.logs.inserts import Log

CONTENT: Final = "content.json"
LOG: Final = "log.json"
MANIFEST: Final = "manifest.json"
PAGE: Final = "index.html"
SCRIPT: Final = "verify_evidence.py"
"""A script that verifies an archive without this program, using Python's standard library alone."""
_LOG: Final[Log] = "operation_log"


class Link(msgspec.Struct, frozen=True, omit_defaults=True):
    """A log entry in its chain: number, previous hash and own hash (hexadecimal), and content.

    ``canonical`` is the hashed text: the JSON of the log's columns. ``about`` marks the entries that the
    evidence is about; other entries only link them to a later head. ``opened`` are the salts and values of
    the commitments in ``canonical``, for entries that the evidence is about.
    """

    number: int
    before: str
    hash: str
    canonical: str
    about: bool
    opened: list[tuple[str, str]] = []


class Segment(msgspec.Struct, frozen=True):
    """Entries of the chain of a day and key, by number."""

    log: str
    day: date
    key_id: str
    links: list[Link]


class Manifest(msgspec.Struct, frozen=True):
    """The manifest of an archive: the SHA-256 of each file, sealed with the chain key."""

    kind: Kind
    version: str
    made: str
    made_by: str
    columns: list[str]
    files: dict[str, str]
    key_id: str
    seal: str = ""

    @property
    def facts(self) -> str:
        """Return the sealed text: all fields except the seal."""
        unsealed = msgspec.structs.replace(self, seal="")
        return f"evidence {msgspec.json.encode(unsealed, order='sorted').decode()}"


def _content(values: Sequence[Any], salts: bytes | None, erased: Any) -> tuple[str, list[tuple[str, str]]]:
    """Return the hashed text of an entry, and the openings of its commitments.

    The text of an entry that was changed beyond reading is empty: it has no such hash, which the verification
    reports.
    """
    try:
        canonical, commitments = opened(_LOG, values, salts, erased)
    except (ValueError, RecursionError, AttributeError, TypeError):
        return "", []
    return canonical.decode(), commitments.openings


@dataclass(frozen=True, slots=True)
class Maker:
    """Makes archives, sealed with the first of ``keys``, the current and former keys of the chains.

    ``connected`` adds the entries between those of the subject and the ends of their days' chains.
    """

    keys: Sequence[Chain]
    version: str
    made: datetime
    made_by: str
    connected: bool = True

    async def segments(self, connection: Connection, mentioned: Mentioned) -> list[Segment]:
        """Return the entries of the operation log that mention a subject, with their chains."""
        places = await log_chain.places(connection, mentioned)
        segments = []
        for (day, key_id), numbers in sorted(places.items()):
            links: list[Link] = []
            chain = next((key for key in self.keys if key.key_id == key_id), None)
            before = "" if chain is None else chain.begin(_LOG, day).hex()
            async for _, _, number, link, salts, erased, *values in log_chain.entries(
                connection, _LOG, day, COLUMNS[_LOG], first=min(numbers) - 1, key=key_id
            ):
                about = number in numbers
                if about or (self.connected and number > min(numbers)):
                    text, openings = _content(values, salts, erased)
                    links.append(Link(number, before, link.hex(), text, about, openings if about else []))
                before = link.hex()
            segments.append(Segment(_LOG, day, key_id, links))
        return segments

    def archive(self, content: Content, segments: Sequence[Segment]) -> bytes:
        """Return the archive."""
        script = _script()
        files = {
            CONTENT: encoded(content),
            LOG: msgspec.json.encode(segments, order="sorted"),
            **derived(content, script),
            SCRIPT: script,
        }
        manifest = Manifest(
            kind=content.kind,
            version=self.version,
            made=rfc3339(self.made),
            made_by=self.made_by,
            columns=[*map(str, COLUMNS[_LOG])],
            files={name: sha256(data).hexdigest() for name, data in files.items()},
            key_id=self.keys[0].key_id,
        )
        sealed = msgspec.structs.replace(manifest, seal=self.keys[0].seal(manifest.facts).hex())
        return zipped({MANIFEST: msgspec.json.encode(sealed, order="sorted"), **files})


def zipped(files: Mapping[str, bytes]) -> bytes:
    """Return an uncompressed archive of ``files``, in their order; equal files give equal bytes."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_STORED) as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name), data)
    return made.getvalue()


def derived(content: Content, script: bytes | None) -> dict[str, bytes]:
    """Return the files derived from ``content``: a CSV of each table, and a printable page.

    The page shows ``script``, the one of the archive; archives of older versions have none.
    """
    tables = {f"{name}.csv": _csv(table) for name, table in content.tables.items()}
    return {**tables, PAGE: _page(content, script)}


@cache
def _script() -> bytes:
    # The wheel carries the file inside the package; in a checkout it is an example.
    package = Path(service.__file__).parent
    packed = package / "shipped" / SCRIPT
    return (
        packed if packed.exists() else package.parent / "docs/examples/verify-evidence" / SCRIPT
    ).read_bytes()


def _csv(table: Table) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\r\n")
    writer.writerow(table.columns)
    writer.writerows([escape_formula(_text(value)) for value in row] for row in table.rows)
    return text.getvalue().encode()


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else msgspec.json.encode(value, order="sorted").decode()


_STYLE: Final = (
    "body{font:10pt sans-serif;margin:1.5cm}table{border-collapse:collapse;width:100%}"
    "th,td{border:1px solid #999;padding:2px 4px;text-align:left;vertical-align:top;overflow-wrap:anywhere}"
    "@page{size:A4 landscape}tr{break-inside:avoid}"
)


_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'"


_HOW: Final = (
    "This archive is verified by portcullis audit verify --evidence, or without Portcullis by the "
    "script below: save it, and run python3 verify_evidence.py with the archive, --heads with the heads that "
    "you have kept, and --key-file. In doubt about the archive take the script from the project's "
    "docs/examples/verify-evidence."
)


def _page(content: Content, script: bytes | None) -> bytes:
    title = f"Evidence: {content.kind} {_text(content.facts.get('title') or content.facts.get('userName'))}"
    parts = [
        '<!doctype html><html lang="en"><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        f"<title>{escape(title)}</title><style>{_STYLE}</style><h1>{escape(title)}</h1>",
        _html(Table(["fact", "value"], [[name, content.facts[name]] for name in sorted(content.facts)])),
    ]
    for name in sorted(content.tables):
        parts += [f"<h2>{escape(name)}</h2>", _html(content.tables[name])]
    if script is not None:
        parts += [f"<h2>How to verify it</h2><p>{_HOW}</p>", f"<pre>{escape(script.decode())}</pre>"]
    return "\n".join(parts).encode()


def _html(table: Table) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in table.columns)
    rows = "\n".join(
        f"<tr>{''.join(f'<td>{escape(_text(value))}</td>' for value in row)}</tr>" for row in table.rows
    )
    return f"<table><thead><tr>{head}</tr></thead>\n<tbody>{rows}</tbody></table>"
