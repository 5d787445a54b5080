"""Evidence: what an archive has, and that every changed byte of it is noticed without a database."""

import io
import json
import random
import zipfile
from datetime import UTC, datetime
from typing import Any

import msgspec

from service.audit.key_chain import Chain
from service.features.audit_proof.checkpoints import AnchoredCheckpoint
from service.features.reviews.evidence_archive import MANIFEST, Maker, Manifest, zipped
from service.features.reviews.evidence_content import Content
from service.features.reviews.evidence_verification import verify
from tests.features.reviews.test_reviews import DECIDES, close, decide, items, started
from tests.support.inside import Inside
from tests.support.members import member, query

HEAD = "SELECT log, day, key_id, number, encode(hash, 'hex') FROM sys.log_chain WHERE log = 'operation_log'"


async def kept_heads(house: Inside) -> list[AnchoredCheckpoint]:
    """Return the heads of the operation log, as an auditor keeps them."""
    return [AnchoredCheckpoint("", *row) for row in await query(house, HEAD)]


async def closed_review(house: Inside, **changes: Any) -> Any:
    """Return a closed review, all entries about which are written."""
    heron = await member(house, "heron", "system:file:list")
    kestrel = await member(house, "kestrel", *DECIDES)
    review = await started(house, heron, kestrel, title="=1+1", **changes)
    for item in await items(house, review):
        await decide(kestrel, review, item, "revoke")
    await close(house, review)
    return review


async def archive(house: Inside, review: Any) -> bytes:
    answer = await house.ask("GET", f"/api/review/{review['id']}/evidence")
    assert answer.status == 200, answer.body
    return answer.body


async def archive_and_heads(house: Inside, review: Any) -> tuple[bytes, list[AnchoredCheckpoint]]:
    """Return the archive of a review, and the heads as they are then: jobs write entries too."""
    while True:
        heads, data = await kept_heads(house), await archive(house, review)
        if await kept_heads(house) == heads:
            return data, heads


def files_of(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as opened:
        return {name: opened.read(name) for name in opened.namelist()}


async def test_an_archive_leads_to_a_head_that_was_kept(house: Inside) -> None:
    review = await closed_review(house)

    data, heads = await archive_and_heads(house, review)
    verified = verify(data, [Chain()], heads)

    assert verified.faults == []
    assert any("by the head with number" in note for note in verified.notes)
    files = files_of(data)
    made = {"content.json", "log.json", "manifest.json", "index.html", "items.csv", "roles.csv"}
    assert {*made, "verify_evidence.py"} == {*files}
    content = json.loads(files["content.json"])
    assert content["facts"]["title"] == "=1+1"
    columns = content["tables"]["items"]["columns"]
    rows = [dict(zip(columns, row, strict=True)) for row in content["tables"]["items"]["rows"]]
    decided = {row["userName"]: (row["decision"], row["reviewerName"], row["outcome"]) for row in rows}
    # Nobody else decides: silence, and no finding, since the administrator may.
    assert decided == {"heron": ("revoke", "kestrel", "revoked"), "kestrel": ("revoke", None, "revoked")}
    assert [len(row["decisionIds"] or ()) for row in rows] == [1, 0]


async def test_one_changed_byte_is_noticed(house: Inside) -> None:
    data, heads = await archive_and_heads(house, await closed_review(house))
    assert verify(data, [Chain()], heads).faults == []
    places = random.Random(7)

    for place in [0, len(data) - 1, *(places.randrange(len(data)) for _ in range(150))]:
        changed = bytearray(data)
        changed[place] ^= 1 << places.randrange(8)
        assert verify(bytes(changed), [Chain()], heads).faults, f"byte {place}"


async def test_an_archive_of_a_log_that_was_changed_is_made_and_names_the_entry(house: Inside) -> None:
    review = await closed_review(house)
    await archive_and_heads(house, review)  # its entries are written
    about = "array_to_string(targets, ' ') LIKE '%%review:%%' AND salts IS NOT NULL"
    last = f"SELECT max(id) FROM sys.operation_log WHERE {about}"
    change = "UPDATE sys.operation_log SET salts = salts || '\\x00' WHERE id = ({}) RETURNING chain_number"
    ((number,),) = await query(house, change.format(last))

    data, heads = await archive_and_heads(house, review)

    faults = verify(data, [Chain()], heads).faults
    assert [fault for fault in faults if str(number) in fault and "changed" in fault], faults


async def test_an_archive_made_anew_about_other_decisions_does_not_fit_the_log(house: Inside) -> None:
    data = await archive(house, await closed_review(house))
    files = files_of(data)
    forged = files["content.json"].replace(b"heron", b"raven")
    maker = Maker([Chain()], "0", datetime.now(UTC), "somebody")
    made = maker.archive(msgspec.json.decode(forged, type=Content), [])

    faults = verify(made, [Chain()], await kept_heads(house)).faults

    assert faults == ["no entry of the log has this content: it differs from the closed review"]


async def test_a_seal_by_a_key_needs_the_key(house: Inside) -> None:
    data = await archive(house, await closed_review(house))
    files = files_of(data)
    manifest = msgspec.json.decode(files[MANIFEST], type=Manifest)
    keyed = Chain("a key of the chains")
    sealed = msgspec.structs.replace(manifest, key_id=keyed.key_id)
    sealed = msgspec.structs.replace(sealed, seal=keyed.seal(sealed.facts).hex())
    resealed = zipped(files | {MANIFEST: msgspec.json.encode(sealed, order="sorted")})

    assert verify(resealed, [Chain(), keyed], [], unauthenticated=True).faults == []
    assert verify(resealed, [Chain()], []).faults == [
        f"it is sealed with the key {keyed.key_id}, which was not given"
    ]


async def test_without_the_right_to_the_log_the_archive_has_only_its_own_entries(house: Inside) -> None:
    review = await closed_review(house)
    auditor = await member(house, "auditor-1", "system:review:evidence")

    answer = await auditor.ask("GET", f"/api/review/{review['id']}/evidence")

    (segment,) = json.loads(files_of(answer.body)["log.json"])
    assert all(link["about"] for link in segment["links"])
    assert verify(answer.body, [Chain()], []).faults == []


async def test_cells_are_no_formulas_and_the_page_runs_nothing(house: Inside) -> None:
    heron = await member(house, "heron", "system:file:list")
    kestrel = await member(house, "kestrel", *DECIDES)
    review = await started(house, heron, title="<script>alert(1)</script>")
    (item,) = await items(house, review)
    await decide(kestrel, review, item, "keep", reason='=HYPERLINK("https://example.org")')

    files = files_of(await archive(house, review))

    assert b"\"'=HYPERLINK" in files["items.csv"]
    assert b"<script" not in files["index.html"]
    assert b"&lt;script&gt;" in files["index.html"]
