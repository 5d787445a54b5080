"""Media types of files, detected from their first bytes: a closed list, each entry with its test.

The tests are those of the WHATWG MIME Sniffing standard (§5.1, §6, §7.1). For types that it lacks, the test
is the signature required by the format's specification. A type without an entry is never accepted.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

HEAD: Final = 4096
"""Number of bytes from the start of a file that the tests need."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One media type: the extensions of its file names, and ``fits``, which tests the first bytes.

    ``active``: browsers run it, since it can hold scripts.
    """

    media_type: str
    extensions: tuple[str, ...]
    fits: Callable[[bytes], bool]
    active: bool = False


def extension_of(name: str) -> str:
    """Return the extension of a file name, in lower case and without the dot; "" if it has none."""
    stem, point, extension = name.rpartition(".")
    return extension.lower() if stem and point else ""


def kinds_of(head: bytes) -> list[Kind]:
    """Return the kinds that fit a file that begins with ``head``; its first ``HEAD`` bytes decide."""
    head = head[:HEAD]  # how the network has cut the file decides nothing
    fitting = [kind for kind in KINDS if kind.fits(head)]
    # A signature of plain letters, such as "%PDF-", would also pass as a text.
    signed = [kind for kind in fitting if kind.fits is not _plain]
    return signed or fitting


def _starts(*signatures: bytes) -> Callable[[bytes], bool]:
    return lambda head: head.startswith(signatures)


def _riff(form: bytes) -> Callable[[bytes], bool]:
    return lambda head: head.startswith(b"RIFF") and head[8:12] == form


def _brand(*brands: bytes) -> Callable[[bytes], bool]:
    """Detect ISO base media files (ISO/IEC 14496-12 §4.3) by their major brand."""
    return lambda head: head[4:8] == b"ftyp" and head.startswith(brands, 8)


def _webm(head: bytes) -> bool:
    return head.startswith(b"\x1a\x45\xdf\xa3") and b"webm" in head[:64]


def _mp3(head: bytes) -> bool:
    # An ID3 tag of version 2.2 to 2.4, or the first frame of MPEG audio layer III: eleven bits set, version 1
    # or 2, layer 01.
    frames = (b"\xff\xfb", b"\xff\xfa", b"\xff\xf3", b"\xff\xf2")
    return head.startswith((b"ID3\x02", b"ID3\x03", b"ID3\x04", *frames))


def _first_entry(head: bytes) -> bytes:
    """Return the name of the first entry of a ZIP archive (APPNOTE §4.3.7) and the bytes after it."""
    if not head.startswith(b"PK\x03\x04"):
        return b""
    return head[30:]


def _office(folder: bytes) -> Callable[[bytes], bool]:
    """Detect Office Open XML (ECMA-376 part 2): a ZIP archive whose first entry is one of the usual four."""
    usual = (b"[Content_Types].xml", b"_rels/", b"docProps/", folder)
    return lambda head: _first_entry(head).startswith(usual)


def _document(media_type: bytes) -> Callable[[bytes], bool]:
    """Detect OpenDocument (part 2, §3.3): the first entry is stored uncompressed and names the type."""
    return lambda head: _first_entry(head).startswith(b"mimetype" + media_type)


# WHATWG MIME Sniffing §3: bytes that never occur in text.
_BINARY: Final = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")
_BLANK: Final = b"\t\n\x0c\r "
_MARK: Final = (b"\xef\xbb\xbf", b"\xfe\xff", b"\xff\xfe")
# §7.1, and other beginnings that browsers take for markup.
_MARKUP: Final = re.compile(rb"(?s)<[!?/a-z]")
_SVG: Final = re.compile(rb"<(?:[a-z0-9]{1,16}:)?svg[\s>/]")


def _is_text(head: bytes) -> bool:
    return head.startswith(_MARK[1:]) or _BINARY.search(head) is None


def _is_markup(head: bytes) -> bool:
    folded = head.replace(b"\0", b"").removeprefix(b"\xef\xbb\xbf")  # UTF-16 as well, after its mark
    folded = folded.removeprefix(_MARK[1]).removeprefix(_MARK[2]).lstrip(_BLANK).lower()
    return _is_text(head) and _MARKUP.match(folded) is not None


def _plain(head: bytes) -> bool:
    return _is_text(head) and not _is_markup(head)


def _svg(head: bytes) -> bool:
    return _is_markup(head) and _SVG.search(head.replace(b"\0", b"").lower()) is not None


_OOXML: Final = "application/vnd.openxmlformats-officedocument."
_ODF: Final = "application/vnd.oasis.opendocument."

KINDS: Final = (
    Kind("image/png", ("png",), _starts(b"\x89PNG\r\n\x1a\n")),
    Kind("image/jpeg", ("jpg", "jpeg"), _starts(b"\xff\xd8\xff")),
    Kind("image/gif", ("gif",), _starts(b"GIF87a", b"GIF89a")),
    Kind("image/webp", ("webp",), _riff(b"WEBP")),
    Kind("image/avif", ("avif",), _brand(b"avif", b"avis")),
    Kind("image/heic", ("heic", "heif"), _brand(b"heic", b"heix", b"mif1")),
    Kind("image/bmp", ("bmp",), lambda head: head.startswith(b"BM") and head[6:10] == b"\0\0\0\0"),
    Kind("image/tiff", ("tif", "tiff"), _starts(b"II*\0", b"MM\0*")),
    Kind("application/pdf", ("pdf",), _starts(b"%PDF-")),
    Kind(_OOXML + "wordprocessingml.document", ("docx",), _office(b"word/")),
    Kind(_OOXML + "spreadsheetml.sheet", ("xlsx",), _office(b"xl/")),
    Kind(_OOXML + "presentationml.presentation", ("pptx",), _office(b"ppt/")),
    Kind(_ODF + "text", ("odt",), _document(_ODF.encode() + b"text")),
    Kind(_ODF + "spreadsheet", ("ods",), _document(_ODF.encode() + b"spreadsheet")),
    Kind(_ODF + "presentation", ("odp",), _document(_ODF.encode() + b"presentation")),
    Kind("application/zip", ("zip",), _starts(b"PK\x03\x04", b"PK\x05\x06")),
    Kind("application/gzip", ("gz", "tgz"), _starts(b"\x1f\x8b\x08")),
    Kind("application/x-7z-compressed", ("7z",), _starts(b"7z\xbc\xaf\x27\x1c")),
    Kind("audio/mpeg", ("mp3",), _mp3),
    Kind("audio/mp4", ("m4a",), _brand(b"M4A ")),
    Kind("audio/ogg", ("ogg", "oga", "opus"), _starts(b"OggS\0")),
    Kind("audio/wav", ("wav",), _riff(b"WAVE")),
    Kind("audio/flac", ("flac",), _starts(b"fLaC")),
    Kind(
        "video/mp4",
        ("mp4", "m4v"),
        _brand(b"isom", b"iso2", b"iso5", b"iso6", b"mp41", b"mp42", b"avc1", b"M4V "),
    ),
    Kind("video/webm", ("webm",), _webm),
    Kind("text/plain", ("txt", "log", "text"), _plain),
    Kind("text/csv", ("csv",), _plain),
    Kind("text/markdown", ("md",), _plain),
    Kind("application/json", ("json",), _plain),
    Kind("image/svg+xml", ("svg",), _svg, active=True),
    Kind("text/html", ("html", "htm"), _is_markup, active=True),
    Kind("application/xml", ("xml",), _is_markup, active=True),
    Kind("text/javascript", ("js", "mjs"), _plain, active=True),
)
"""All kinds; if several fit and the file name does not decide, the first one counts."""

KIND_OF: Final = {extension: kind for kind in KINDS for extension in kind.extensions}
"""The kinds by extension."""
