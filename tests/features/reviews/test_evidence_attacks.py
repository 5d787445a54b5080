"""Archives that somebody has made to deceive an auditor, or the machine that verifies them."""

import asyncio
import io
import warnings
import zipfile
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime
from hashlib import sha256
from typing import Any

import msgspec
import pytest

from service.audit.key_chain import Chain
from service.features.audit_proof.checkpoints import AnchoredCheckpoint
from service.features.reviews.evidence_archive import (
    CONTENT,
    LOG,
    MANIFEST,
    Link,
    Maker,
    Manifest,
    Segment,
    zipped,
)
from service.features.reviews.evidence_content import Content, Table, digest_of
from service.features.reviews.evidence_verification import verify
from tests.features.reviews.test_evidence import (
    archive,
    archive_and_heads,
    closed_review,
    files_of,
    kept_heads,
)
from tests.support.cases import with_each
from tests.support.inside import Inside
from tests.support.members import Member, ids_of, member

KEYS = [Chain()]
MAKER = Maker(KEYS, "0", datetime.now(UTC), "somebody")
EMPTY = Content("request", {}, {})


def sealed(files: dict[str, bytes], **changes: Any) -> bytes:
    """Return an archive of files, with a manifest that fits them."""
    made = files_of(MAKER.archive(EMPTY, []))
    manifest = msgspec.json.decode(made[MANIFEST], type=Manifest)
    rest = {name: file for name, file in files.items() if name != MANIFEST}
    digests = {name: sha256(file).hexdigest() for name, file in rest.items()}
    manifest = msgspec.structs.replace(manifest, files=digests, **changes)
    manifest = msgspec.structs.replace(manifest, seal=Chain().seal(manifest.facts).hex())
    return zipped({MANIFEST: msgspec.json.encode(manifest, order="sorted"), **rest})


def faults(data: bytes, heads: list[AnchoredCheckpoint] | None = None) -> list[str]:
    return verify(data, KEYS, heads or []).faults


def test_a_removed_file_a_second_one_of_a_name_and_a_foreign_one_are_noticed() -> None:
    good = MAKER.archive(EMPTY, [])
    assert faults(good) == []
    files = files_of(good)

    assert faults(zipped({name: file for name, file in files.items() if name != LOG}))
    without_page = {name: file for name, file in files.items() if name != "index.html"}
    assert faults(sealed(without_page)) == ["index.html was changed after it was created"]
    twice = io.BytesIO(good)
    with warnings.catch_warnings(), zipfile.ZipFile(twice, "a") as opened:
        warnings.simplefilter("ignore")
        opened.writestr(zipfile.ZipInfo("index.html"), b"other")
    assert faults(twice.getvalue())
    for name in ("../../evil.html", "/etc/evil", "more.csv"):
        assert faults(sealed(files | {name: b"x"})) == [f"{name} was changed after it was created"]


def test_an_archive_without_the_seal_of_the_key_is_a_fault_unless_it_is_allowed() -> None:
    keyed = Chain("the key of the chains")
    data = MAKER.archive(EMPTY, [])
    chained = replace(MAKER, keys=[keyed]).archive(
        EMPTY, [Segment("operation_log", date(2026, 1, 1), "", [])]
    )

    assert verify(data, [Chain(), keyed], []).faults == ["it is sealed without a key, and one was given"]
    assert verify(chained, [Chain(), keyed], []).faults == [
        "operation_log 2026-01-01: its chain was made without a key, and one was given"
    ]
    for each in (data, chained):
        assert verify(each, [Chain(), keyed], [], unauthenticated=True).faults == []


def test_a_table_does_not_name_a_path() -> None:
    content = Content("request", {}, {"../../evil": Table([], [])})

    assert faults(MAKER.archive(content, [])) == ["the archive can't be read: a table has no plain name"]


def test_a_bomb_is_refused_unopened() -> None:
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as opened:
        opened.writestr(MANIFEST, b" " * 2**28)

    (fault,) = faults(bomb.getvalue())

    assert "compressed" in fault


@with_each(
    "content",
    [
        b'{"kind":"request","facts":{"x":' + b"[" * 200_000 + b"]" * 200_000 + b'},"tables":{}}',
        b'{"kind":"other","facts":{},"tables":{}}',
        b"\xff",
        b"",
    ],
)
def test_content_of_another_form_is_a_fault_and_no_failure(content: bytes) -> None:
    files = files_of(MAKER.archive(EMPTY, []))

    (fault,) = faults(sealed(files | {CONTENT: content}))

    assert fault.startswith("the archive can't be read")


@pytest.mark.parametrize("number", [-1, 2**63])
def test_numbers_that_no_entry_has_are_a_fault(number: int) -> None:
    link = Link(number, "", "", "[]", True)
    data = MAKER.archive(EMPTY, [Segment("operation_log", date(2026, 1, 1), "", [link])])

    assert any("was changed after it was written" in fault for fault in faults(data))


def test_an_encrypted_archive_is_a_fault() -> None:
    data = bytearray(MAKER.archive(EMPTY, []))
    place = data.index(b"PK\x01\x02")
    data[6] |= 1
    data[place + 8] |= 1

    assert faults(bytes(data))


def test_what_the_manifest_says_it_is_about_is_what_it_is_about() -> None:
    files = files_of(MAKER.archive(EMPTY, []))

    assert faults(sealed(files, kind="review")) == ["its manifest is that of another kind of evidence"]


async def test_the_heads_of_another_chain_prove_nothing(house: Inside) -> None:
    data, heads = await archive_and_heads(house, await closed_review(house))

    changes: list[dict[str, Any]] = [{"log": "login_log"}, {"key_id": "0123"}, {"day": date(2020, 1, 1)}]
    for change in changes:
        others = [replace(head, **change) for head in heads]
        assert any("no head was given" in fault for fault in faults(data, others))
    for head in heads:
        forged = replace(head, hash="0" * 64)
        assert any("differs from the head" in fault for fault in faults(data, [forged]))


async def links_when(by: Inside | Member, review: Any, seen: Callable[[Link], bool]) -> list[Segment]:
    """Return the entries of an archive once one of them is as wanted: they are written a moment later."""
    for _ in range(200):
        answer = await by.ask("GET", f"/api/review/{review['id']}/evidence")
        segments = msgspec.json.decode(files_of(answer.body)[LOG], type=list[Segment])
        if any(seen(link) for each in segments for link in each.links):
            return segments
        await asyncio.sleep(0.05)
    raise AssertionError("the entry was not written")


async def test_an_entry_about_something_else_does_not_tell_what_a_review_was(house: Inside) -> None:
    review = await closed_review(house)
    files = files_of(await archive(house, review))
    forged = msgspec.json.decode(files[CONTENT].replace(b"heron", b"raven"), type=Content)
    await house.data(
        "POST", "/api/role", {"roleName": "x", "roleCode": "x", "description": digest_of(forged)}
    )
    segments = await links_when(house, review, lambda link: digest_of(forged) in link.canonical)
    claimed = [
        msgspec.structs.replace(
            each, links=[msgspec.structs.replace(link, about=True) for link in each.links]
        )
        for each in segments
    ]

    # The log may have grown since: then the kept head is a later one.
    why = "no entry of the log has this content: it differs from the closed review"
    assert why in faults(MAKER.archive(forged, claimed), await kept_heads(house))


async def test_who_may_not_list_the_log_by_a_narrower_binding_gets_its_own_entries_only(
    house: Inside,
) -> None:
    review = await closed_review(house)
    auditor = await member(house, "auditor-1", "system:review:evidence", "system:operation-log:list")
    await house.data("POST", "/api/role", {"roleName": "x", "roleCode": "x"})
    assert await links_when(auditor, review, lambda link: not link.about)
    resource = {"resourceName": "x", "resourceCode": "x", "method": "GET", "path": "/api/operation-log/list"}
    made = await house.data("POST", "/api/resource", resource)
    bound = {"menuIds": await ids_of(house, "system:job:run")}
    await house.data("PUT", f"/api/resource/{made['id']}/buttons", bound)
    assert (await auditor.ask("GET", "/api/operation-log/list")).status == 403
    narrowed = (await auditor.ask("GET", f"/api/review/{review['id']}/evidence")).body
    segments = msgspec.json.decode(files_of(narrowed)[LOG], type=list[Segment])
    assert all(link.about for each in segments for link in each.links)
