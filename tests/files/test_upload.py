"""What becomes of a file that is uploaded, and of one that is not to be."""

import hashlib
import os
import re
from pathlib import Path

import pytest

from service.files.object_store import PART
from tests.files.forms import (
    BOUNDARY,
    PDF,
    PNG,
    disposition,
    download,
    form,
    in_pieces,
    send,
    upload,
    uploaded,
)
from tests.support.cases import with_each
from tests.support.inside import Inside, inside_published
from tests.web.driver import Answer

LARGE = PNG + os.urandom(PART + 1000)


def traces(service: Inside, folder: Path) -> tuple[set[str], set[str]]:
    """Return the keys of all rows, those that nobody sees included, and of all objects."""
    connection = service.beside()
    keys = {row[0] for row in connection.execute("SELECT key FROM sys.file WHERE state = 'stored'")}
    assert connection.execute("SELECT name FROM sys.file WHERE state <> 'stored'").fetchall() == []
    return keys, {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def refused_without_a_trace(answer: Answer, code: str, service: Inside, folder: Path) -> None:
    assert answer.code == code, answer.body
    rows, objects = traces(service, folder)
    assert rows == objects


@pytest.mark.parametrize("content", [PNG, LARGE], ids=["small", "in parts"])
async def test_a_file_is_answered_as_it_is_and_comes_back_to_the_byte(either: Inside, content: bytes) -> None:
    answer = await upload(either, "Ansicht von Süden.png", content)

    data = answer.json["data"]
    digest = hashlib.sha256(content).hexdigest()
    assert answer.status == 201
    assert answer.header("etag") == f'"{digest}"'
    assert (data["name"], data["size"], data["sha256"]) == ("Ansicht von Süden.png", len(content), digest)
    assert (data["contentType"], data["ownerName"], data["linkExpireTime"]) == ("image/png", "admin", None)
    assert (await download(either, data["id"])).body == content
    assert (await either.data("GET", "/api/file/list"))["items"] == [data]


async def test_a_file_that_arrives_byte_by_byte_is_the_same_file(shared: Inside) -> None:
    content = PNG[:300] + b"\r\n--" + BOUNDARY.encode() + b"x\r\n" * 3 + PNG
    content = content.replace(BOUNDARY.encode() + b"x", BOUNDARY[:-1].encode() + b"x")

    answer = await send(shared, in_pieces(form(content, disposition("p.png")), 1))

    assert answer.status == 201, answer.body
    assert (await download(shared, answer.json["data"]["id"])).body == content


async def test_an_empty_text_is_a_file(shared: Inside) -> None:
    data = await uploaded(shared, "empty.txt", b"")

    assert (data["size"], data["contentType"]) == (0, "text/plain")
    assert (await download(shared, data["id"])).body == b""


@with_each(
    "name",
    [
        "../../etc/passwd.txt",
        "/etc/passwd.txt",
        "..",
        "a/b.png",
        "a\\b.png",
        "nul\0.png",
        "line\r\nSet-Cookie: a=b.png",
        "tab\t.png",
        "gnp.\u202excod.png",
        "\u2066isolated.png",
        "line\u2028separator.png",
        "n" * 296 + ".png",
        "ü" * 126 + ".png",
        " leading.png",
        "trailing.png ",
        "point.png.",
        "",
    ],
)
async def test_a_name_that_is_none_is_refused_by_its_field(shared: Inside, folder: Path, name: str) -> None:
    answer = await upload(shared, name)

    assert answer.fields == ["file"]
    refused_without_a_trace(answer, "validation_failed", shared, folder)


@with_each(
    "name",
    [
        'quo"ted.png',
        "it's.png",
        "semi;colon.png",
        "100%41.png",
        "<script>.png",
        "नमस्ते.png",
        "שלום.png",
        "family 👩\u200d👩.png",
        ".png",
        "n" * 251 + ".png",
    ],
)
async def test_an_odd_name_is_kept_as_it_is_and_is_no_path(shared: Inside, folder: Path, name: str) -> None:
    before = traces(shared, folder)[1]
    data = await uploaded(shared, name)

    assert data["name"] == name
    (stored,) = traces(shared, folder)[1] - before
    assert re.fullmatch("[0-9a-f]{32}/[0-9a-f]{32}", stored)
    assert (await download(shared, data["id"])).body == PNG


async def test_a_path_of_windows_is_cut_to_its_name(shared: Inside) -> None:
    assert (await uploaded(shared, "C:\\fakepath\\picture.png"))["name"] == "picture.png"


@with_each(
    ("name", "content", "code"),
    [
        ("a.svg", b'<svg xmlns="http://www.w3.org/2000/svg"><script/></svg>', "unsupported_media_type"),
        ("a.html", b"<!DOCTYPE html><script>alert(1)</script>", "unsupported_media_type"),
        ("a.xml", b'<?xml version="1.0"?><a/>', "unsupported_media_type"),
        ("a.js", b"alert(1)", "unsupported_media_type"),
        ("a.exe", b"MZ\x90\0", "unsupported_media_type"),
        ("a.php", b"<?php system('id');", "unsupported_media_type"),
        ("svg", b'<svg xmlns="http://www.w3.org/2000/svg"/>', "unsupported_media_type"),
        ("program", b"\x7fELF\x02\x01\x01\0", "unsupported_media_type"),
        ("a.png", b"<html><script>alert(1)</script>", "validation_failed"),
        ("a.txt", b" \n<!-- x --><script>alert(1)</script>", "validation_failed"),
        ("a.txt", "\ufeff<html>".encode("utf-16-le"), "validation_failed"),
        ("a.csv", b"<svg/onload=alert(1)>", "validation_failed"),
        ("a.txt", b"\x7fELF\x02\x01\x01\0", "validation_failed"),
        ("a.png", PDF, "validation_failed"),
        ("a.pdf", b"<html>" + PDF, "validation_failed"),
        ("a.zip", PNG + b"PK\x03\x04", "validation_failed"),
        ("a.docx", b"PK\x03\x04" + bytes(26) + b"evil.exe", "validation_failed"),
        ("a.png", b"", "validation_failed"),
    ],
)
async def test_what_is_not_taken_or_belies_its_name_is_refused_by_its_content(
    shared: Inside, folder: Path, name: str, content: bytes, code: str
) -> None:
    refused_without_a_trace(await upload(shared, name, content), code, shared, folder)


async def test_what_the_form_says_about_the_type_counts_for_nothing(shared: Inside, folder: Path) -> None:
    lying = form(b"<script>alert(1)</script>", disposition("a.html"), "Content-Type: image/png")
    refused_without_a_trace(await send(shared, lying), "unsupported_media_type", shared, folder)

    answer = await send(shared, form(PNG, disposition("a.png"), "Content-Type: text/html"))
    assert answer.json["data"]["contentType"] == "image/png"


async def test_a_polyglot_is_what_its_beginning_is_and_is_served_as_nothing_else(shared: Inside) -> None:
    polyglot = b"GIF89a/*" + b"\0" * 40 + b"*/=1;<script>alert(1)</script>"
    data = await uploaded(shared, "both.gif", polyglot)

    answer = await download(shared, data["id"])
    assert answer.header("content-type") == "image/gif"
    assert answer.header("x-content-type-options") == "nosniff"
    assert (answer.header("content-disposition") or "").startswith("attachment;")
    assert answer.header("content-security-policy") == "sandbox; default-src 'none'; frame-ancestors 'none'"


async def test_a_file_without_an_extension_is_what_its_content_is(shared: Inside) -> None:
    assert (await uploaded(shared, "README", b"plain words"))["contentType"] == "text/plain"
    assert (await uploaded(shared, "scan", PDF))["contentType"] == "application/pdf"


async def test_active_content_is_taken_where_the_settings_name_it_and_is_never_run(
    fresh_url: str, redis_url: str, tmp_path: Path
) -> None:
    variables = {
        "PORTCULLIS_SERVER__DATA": str(tmp_path),
        "PORTCULLIS_UPLOAD__TYPES": "image/svg+xml, text/html",
    }
    async with inside_published(fresh_url, redis_url, **variables) as service:
        data = await uploaded(service, "a.svg", b"<?xml version='1.0'?><svg:svg><script/></svg:svg>")
        answer = await download(service, data["id"])
        refused = await upload(service)

    assert answer.header("content-type") == "image/svg+xml"
    assert (answer.header("content-disposition") or "").startswith("attachment;")
    assert answer.header("content-security-policy") == "sandbox; default-src 'none'; frame-ancestors 'none'"
    assert refused.code == "unsupported_media_type"


@with_each(
    ("body", "code"),
    [
        (b"", "bad_request"),
        (form(PNG, disposition("a.png"))[:-30], "bad_request"),
        (form(PNG, disposition("a.png"), boundary="other"), "bad_request"),
        (form(PNG, "no colon"), "bad_request"),
        (form(PNG, "Content-Type: image/png"), "bad_request"),
        (form(PNG, "X-Long: " + "x" * 5000, disposition("a.png")), "bad_request"),
        (form(PNG, *["X-Many: x"] * 9, disposition("a.png")), "bad_request"),
        (form(PNG, disposition("a.png", field="other")), "validation_failed"),
        (form(PNG, 'Content-Disposition: form-data; name="file"'), "validation_failed"),
        (
            form(PNG, "Content-Disposition: form-data; name=\"file\"; filename*=UTF-8''a.png"),
            "validation_failed",
        ),
        (f"--{BOUNDARY}--\r\n".encode(), "validation_failed"),
        (b"x" * 40_000 + b"\r\n" + form(PNG, disposition("a.png")), "too_large"),
        (form(PNG, disposition("a.png")) + b"x" * 40_000, "too_large"),
    ],
)
async def test_a_body_that_is_no_form_with_one_file_is_refused(
    shared: Inside, folder: Path, body: bytes, code: str
) -> None:
    refused_without_a_trace(await send(shared, in_pieces(body)), code, shared, folder)


async def test_a_second_part_behind_the_file_leaves_no_trace_of_the_first(
    either: Inside, either_folder: Path
) -> None:
    both = form(LARGE, disposition("a.png"))[: -len(BOUNDARY) - 6] + form(b"x", disposition("b.txt"))

    answer = await send(either, in_pieces(both))

    assert answer.fields == ["file"]
    assert not any(traces(either, either_folder))


@with_each(
    "media_type",
    ["application/json", "multipart/mixed; boundary=x", "text/plain", "application/x-www-form-urlencoded"],
)
async def test_another_kind_of_body_is_refused_by_its_type(shared: Inside, media_type: str) -> None:
    answer = await send(shared, form(PNG, disposition("a.png")), ("Content-Type", media_type))

    assert answer.code == "unsupported_media_type"


@with_each("boundary", ["", "; boundary=", "; boundary=" + "b" * 71, '; boundary="a\tb\x7f"'])
async def test_a_boundary_that_is_none_is_refused(shared: Inside, boundary: str) -> None:
    answer = await send(
        shared, form(PNG, disposition("a.png")), ("Content-Type", f"multipart/form-data{boundary}")
    )

    assert answer.code == "bad_request"


async def test_a_client_that_goes_away_in_the_middle_leaves_no_trace(
    either: Inside, either_folder: Path
) -> None:
    body = form(LARGE, disposition("a.png"))

    for length in (100, 20_000, len(body) - 1000):
        answer = await send(either, in_pieces(body[:length]), declared=len(body), ends=False)
        assert answer.code == "bad_request"

    assert not any(traces(either, either_folder))


async def test_nobody_uploads_without_the_permission(shared: Inside) -> None:
    answer = await send(shared, form(PNG, disposition("a.png")), token="nobody")

    assert answer.status == 401


async def test_the_documentation_says_how_a_file_is_uploaded_and_downloaded(shared: Inside) -> None:
    document = (await shared.ask("GET", "/docs/openapi.json")).json
    paths = document["paths"]

    named = paths["/api/file"]["post"]["requestBody"]["content"]["multipart/form-data"]["schema"]["$ref"]
    form_of = document["components"]["schemas"][named.removeprefix("#/components/schemas/")]
    assert form_of["required"] == ["file"]
    assert {"413", "415", "422", "503"} <= set(paths["/api/file"]["post"]["responses"])
    for path in ("/api/file/{id}", "/api/public/file/{token}"):
        assert "*/*" in paths[path]["get"]["responses"]["200"]["content"]
        assert {"404", "416"} <= set(paths[path]["get"]["responses"])
    assert paths["/api/public/file/{token}"]["get"]["security"] == []
