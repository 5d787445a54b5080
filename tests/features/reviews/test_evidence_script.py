"""The script by which evidence is verified without this program: it finds what the program finds."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from service.audit.key_chain import Chain
from service.features.reviews.evidence_archive import CONTENT, LOG, MANIFEST, PAGE, SCRIPT, Maker, zipped
from service.features.reviews.evidence_content import Content, Table
from service.features.reviews.evidence_verification import verify
from tests.docs.pages import ROOT
from tests.features.reviews.test_evidence import archive_and_heads, closed_review, files_of
from tests.features.reviews.test_evidence_command import written
from tests.support.inside import Inside

FILE = ROOT / "docs" / "examples" / "verify-evidence" / SCRIPT


async def ran(archive: Path, *arguments: str) -> tuple[int, str]:
    """Run the script by Python alone, without any package of this one."""
    words = [sys.executable, "-I", "-S", str(FILE), str(archive), *arguments]
    done = await asyncio.to_thread(subprocess.run, words, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def forged(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield archives in which something was changed."""
    files = files_of(data)
    yield "a byte", data.replace(b"heron", b"raven", 1)
    yield "a byte behind it", data + b"x"
    for name in (CONTENT, LOG, MANIFEST, PAGE, SCRIPT, "items.csv"):
        yield name, zipped({**files, name: files[name].replace(b"e", b"E", 1)})
    yield "a further file", zipped({**files, "more.csv": b""})
    yield "a missing file", zipped({name: file for name, file in files.items() if name != "items.csv"})


async def test_the_script_finds_what_the_program_finds(house: Inside, tmp_path: Path) -> None:
    data, heads = await archive_and_heads(house, await closed_review(house))
    kept, archive = written(tmp_path, heads), tmp_path / "review.zip"
    archive.write_bytes(data)
    files = files_of(data)

    status, printed = await ran(archive, "--heads", kept)

    assert status == 0, printed
    assert "by the head with number" in printed
    assert printed.endswith("is unchanged\n")
    assert files[SCRIPT] == FILE.read_bytes()
    assert b"How to verify it" in files[PAGE]
    assert b"def of_closing" in files[PAGE]
    for what, changed in forged(data):
        archive.write_bytes(changed)
        status, printed = await ran(archive, "--heads", kept)
        assert verify(changed, [Chain()], heads).faults, what
        assert (status, "was CHANGED after it was created" in printed) == (1, True), (what, printed)


async def test_the_script_needs_the_heads_that_were_kept_and_the_right_key(
    house: Inside, tmp_path: Path
) -> None:
    data, heads = await archive_and_heads(house, await closed_review(house))
    archive, key = tmp_path / "review.zip", tmp_path / "key"
    archive.write_bytes(data)
    key.write_text("a key of the chains, of at least as many characters\n")
    others = [replace(head, hash="0" * 64) for head in heads]

    unkept = await ran(archive)
    differing = await ran(archive, "--heads", written(tmp_path, others))
    keyed = await ran(archive, "--key-file", str(key))

    assert (unkept[0], "not compared with a head" in unkept[1]) == (0, True)
    assert "sealed without a key (oplog.chain_key): anybody could have made it" in unkept[1]
    assert (differing[0], "differs from the head that was kept" in differing[1]) == (1, True)
    assert (keyed[0], "it is sealed without a key, and one was given" in keyed[1]) == (1, True)


async def test_a_seal_by_a_key_is_checked_with_that_key_alone(tmp_path: Path) -> None:
    archive, key, other = (tmp_path / name for name in ("request.zip", "key", "other"))
    key.write_text("an old key of the chains\na key of the chains\n")
    other.write_text("another key of the chains\n")
    content = Content("request", {"title": "=1 <b>é"}, {"items": Table(["a"], [["=x"], [{"b": [None, 1]}]])})
    maker = Maker([Chain("a key of the chains")], "1", datetime.now(UTC), "admin")
    archive.write_bytes(maker.archive(content, []))

    assert (await ran(archive, "--key-file", str(key)))[0] == 0
    for arguments in ((), ("--key-file", str(other))):
        status, printed = await ran(archive, *arguments)
        assert (status, "which was not given" in printed) == (1, True)
    files = files_of(archive.read_bytes())
    changed = files[MANIFEST].replace(b'"made_by":"admin"', b'"made_by":"adnim"')
    archive.write_bytes(zipped({**files, MANIFEST: changed}))
    status, printed = await ran(archive, "--key-file", str(key))
    assert (status, "its seal is not that of its manifest" in printed) == (1, True)
