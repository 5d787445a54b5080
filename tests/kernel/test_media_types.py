import io
import zipfile

from hypothesis import given
from hypothesis import strategies as st

from service.kernel.media_types import HEAD, KIND_OF, KINDS, extension_of, kinds_of
from tests.support.cases import with_each

OOXML = "application/vnd.openxmlformats-officedocument."
ODF = "application/vnd.oasis.opendocument."
TEXTS = ["text/plain", "text/csv", "text/markdown", "application/json", "text/javascript"]


def archive(*names: str, content: bytes = b"content") -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as entries:
        for name in names:
            entries.writestr(name, content)
    return made.getvalue()


def media_types_of(head: bytes) -> list[str]:
    return [kind.media_type for kind in kinds_of(head)]


@with_each(
    ("head", "kinds"),
    [
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", ["image/png"]),
        (b"\xff\xd8\xff\xe0\0\x10JFIF\0", ["image/jpeg"]),
        (b"GIF89a\x01\0", ["image/gif"]),
        (b"RIFF\x10\0\0\0WEBPVP8 ", ["image/webp"]),
        (b"RIFF\x10\0\0\0WAVEfmt ", ["audio/wav"]),
        (b"RIFF\x10\0\0\0AVI LIST", []),
        (b"\0\0\0\x1cftypavif\0\0\0\0", ["image/avif"]),
        (b"\0\0\0\x1cftypisom\0\0\x02\0", ["video/mp4"]),
        (b"\0\0\0\x1cftypM4A \0\0\0\0", ["audio/mp4"]),
        (b"BM\x36\0\0\0\0\0\0\0\x36\0\0\0", ["image/bmp"]),
        (b"II*\0\x08\0\0\0", ["image/tiff"]),
        (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", ["application/pdf"]),
        (b"\x1f\x8b\x08\0\0\0\0\0", ["application/gzip"]),
        (b"7z\xbc\xaf\x27\x1c\0\x04", ["application/x-7z-compressed"]),
        (b"\x1a\x45\xdf\xa3\x01\0\0\0\0\0\0\x1f\x42\x82\x84webm", ["video/webm"]),
        (b"\x1a\x45\xdf\xa3\x01\0\0\0\0\0\0\x1f\x42\x82\x88matroska", []),
        (b"OggS\0\x02\0\0", ["audio/ogg"]),
        (b"fLaC\0\0\0\x22", ["audio/flac"]),
        (b"ID3\x04\0\0\0\0\0\0", ["audio/mpeg"]),
        (
            archive("[Content_Types].xml", "word/document.xml")[:HEAD],
            [
                OOXML + "wordprocessingml.document",
                OOXML + "spreadsheetml.sheet",
                OOXML + "presentationml.presentation",
                "application/zip",
            ],
        ),
        (archive("xl/workbook.xml")[:HEAD], [OOXML + "spreadsheetml.sheet", "application/zip"]),
        (archive("mimetype", content=(ODF + "text").encode())[:HEAD], [ODF + "text", "application/zip"]),
        (archive("evil.exe")[:HEAD], ["application/zip"]),
        (archive()[:HEAD], ["application/zip"]),
        (b"plain words", TEXTS),
        (b"ID3 and BM are words", TEXTS),
        ("Größe;Preis\r\n1;2\r\n".encode("latin-1"), TEXTS),
        ("\ufeffwide".encode("utf-16-le"), TEXTS),
        (b"", TEXTS),
        (b"<!DOCTYPE html>", ["text/html", "application/xml"]),
        (b"\xef\xbb\xbf \r\n<ScRiPt>", ["text/html", "application/xml"]),
        ("\ufeff<html>".encode("utf-16-be"), ["text/html", "application/xml"]),
        (b"<?xml version='1.0'?>\n<svg:svg>", ["image/svg+xml", "text/html", "application/xml"]),
        (b"<svg/onload=alert(1)>", ["image/svg+xml", "text/html", "application/xml"]),
        (b"<?php system('id');", ["text/html", "application/xml"]),
        (b"1 < 2 and < 3", TEXTS),
        (b"MZ\x90\0\x03", []),
        (b"\x7fELF\x02\x01\x01\0", []),
        (b"\0\0\0\0", []),
    ],
)
def test_a_beginning_is_told_as_these_kinds_and_no_other(head: bytes, kinds: list[str]) -> None:
    assert media_types_of(head) == kinds


@given(st.binary(max_size=200))
def test_no_beginning_is_text_and_markup_at_once(head: bytes) -> None:
    matches = set(media_types_of(head))
    assert not ("text/plain" in matches and "text/html" in matches)


@given(
    st.binary(max_size=100),
    st.sampled_from(["<script>", "<html", "<!--", "<svg ", "<?xml", "</a>", "<iframe"]),
)
def test_what_begins_like_markup_is_never_taken_for_anything_that_is_harmless(
    rest: bytes, start: str
) -> None:
    assert all(kind.active for kind in kinds_of(start.encode() + rest))


def test_only_the_first_bytes_decide_however_many_have_arrived() -> None:
    text = b"a" * HEAD
    assert media_types_of(text + b"\0") == media_types_of(text)


def test_each_extension_stands_for_one_kind_and_each_type_stands_once() -> None:
    assert len(KIND_OF) == sum(len(kind.extensions) for kind in KINDS)
    assert len({kind.media_type for kind in KINDS}) == len(KINDS)


@with_each(
    ("name", "extension"),
    [("a.PNG", "png"), ("a.tar.gz", "gz"), (".profile", ""), ("README", ""), ("a.", ""), ("ä.İ", "i̇")],
)
def test_the_extension_is_what_stands_behind_the_last_point(name: str, extension: str) -> None:
    assert extension_of(name) == extension
