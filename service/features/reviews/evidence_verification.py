"""Verifies an archive of evidence without a database: files, seal, and log entries."""

import io
import re
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final

import msgspec

from service.audit.key_chain import Chain
from service.features.audit_proof.checkpoints import AnchoredCheckpoint
from service.features.audit_proof.commitments import opens
from service.features.audit_proof.rows import COLUMNS
from service.features.reviews.evidence_archive import (
    CONTENT,
    LOG,
    MANIFEST,
    SCRIPT,
    Link,
    Manifest,
    Segment,
    derived,
    zipped,
)
from service.features.reviews.evidence_content import Content, digest_of

_UNREADABLE: Final = (
    zipfile.BadZipFile,
    msgspec.MsgspecError,
    KeyError,
    ValueError,
    NotImplementedError,
    EOFError,
    OSError,
    RecursionError,
)
_LOG: Final = "operation_log"
_TABLE: Final = re.compile("[A-Za-z]{1,64}")
_PLACES: Final = {name: COLUMNS[_LOG].index(name) for name in ("module", "action", "changes")}


@dataclass(slots=True)
class Verified:
    """The result of a verification: ``notes`` describe the archive, ``faults`` are the errors found in it."""

    notes: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


def verify(
    data: bytes, keys: Sequence[Chain], heads: Sequence[AnchoredCheckpoint], *, unauthenticated: bool = False
) -> Verified:
    """Verify the archive ``data`` against the ``keys`` of the chains and the stored ``heads``.

    If heads are given, each entry that the evidence is about must lead to one of them. If a key is given,
    content without a key is a fault unless ``unauthenticated`` accepts it: anybody could have made it.
    """
    verified = Verified()
    must_have_key = not unauthenticated and any(key.key_id for key in keys)
    try:
        files = _files(data)
        manifest = msgspec.json.decode(files[MANIFEST], type=Manifest)
        content = msgspec.json.decode(files[CONTENT], type=Content)
        segments = msgspec.json.decode(files[LOG], type=list[Segment])
        if not all(map(_TABLE.fullmatch, content.tables)):
            raise ValueError("a table has no plain name")
    except _UNREADABLE as error:
        verified.faults.append(f"the archive can't be read: {error}")
        return verified
    verified.notes.append(f"{manifest.kind}: made {manifest.made} by {manifest.made_by}")
    _check_files(verified, data, files, manifest, content)
    _check_seal(verified, manifest, keys)
    if must_have_key and not manifest.key_id:
        verified.faults.append("it is sealed without a key, and one was given")
    for segment in segments:
        if must_have_key and not segment.key_id:
            verified.faults.append(
                f"{segment.log} {segment.day}: its chain was made without a key, and one was given"
            )
        _check_segment(verified, segment, keys, heads)
    if not heads:
        verified.notes.append("not compared with a head: only the chain key was verified")
    if content.kind == "review" and content.facts.get("state") == "closed":
        _check_closing(verified, content, segments)
    return verified


def _files(data: bytes) -> dict[str, bytes]:
    """Return the files of an archive; raises ValueError before unpacking files larger than the archive."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        listed = archive.infolist()
        if any(each.compress_type != zipfile.ZIP_STORED or each.flag_bits & 1 for each in listed):
            raise ValueError("it has compressed or encrypted files")
        if sum(each.file_size for each in listed) > len(data):
            raise ValueError("its files are larger than it is")
        return {each.filename: archive.read(each) for each in listed}


def _check_files(
    verified: Verified, data: bytes, files: dict[str, bytes], manifest: Manifest, content: Content
) -> None:
    digests = {name: sha256(file).hexdigest() for name, file in files.items() if name != MANIFEST}
    changed = sorted(name for name, _ in {*digests.items()} ^ {*manifest.files.items()})
    made = derived(content, files.get(SCRIPT))
    changed += sorted(name for name, file in made.items() if files.get(name) != file)
    changed += sorted({*files} - {MANIFEST, CONTENT, LOG, SCRIPT, *made})
    if manifest.kind != content.kind:
        verified.faults.append("its manifest is that of another kind of evidence")
    verified.faults += [f"{name} was changed after it was created" for name in dict.fromkeys(changed)]
    if zipped(files) != data:
        verified.faults.append("the archive has bytes that are not of its files")


def _check_seal(verified: Verified, manifest: Manifest, keys: Sequence[Chain]) -> None:
    chain = next((key for key in keys if key.key_id == manifest.key_id), None)
    if chain is None:
        verified.faults.append(f"it is sealed with the key {manifest.key_id}, which was not given")
    elif chain.seal(manifest.facts).hex() != manifest.seal:
        verified.faults.append("its seal is not that of its manifest")
    if not manifest.key_id:
        verified.notes.append(
            "sealed without a key (oplog.chain_key): "
            "anybody could have made it, but not the entries before a head"
        )


def _check_segment(
    verified: Verified, segment: Segment, keys: Sequence[Chain], heads: Sequence[AnchoredCheckpoint]
) -> None:
    place = f"{segment.log} {segment.day}"
    chain = next((key for key in keys if key.key_id == segment.key_id), None)
    if chain is None:
        verified.faults.append(
            f"{place}: its chain was made with the key {segment.key_id}, which was not given"
        )
        return
    before: Link | None = None
    run: list[Link] = []
    runs = [run]
    for link in segment.links:
        follows = before is not None and link.number == before.number + 1
        if not _fits(chain, link) or (follows and before is not None and link.before != before.hash):
            verified.faults.append(f"{place}: entry number {link.number} was changed after it was written")
        if not follows and run:
            run = []
            runs.append(run)
        run.append(link)
        before = link
    of_chain = (segment.log, segment.day, segment.key_id)
    known = {head.number: head.hash for head in heads if head.place == of_chain}
    for run in filter(None, runs):
        _compare(verified, place, run, known, compared=bool(heads))


def _fits(chain: Chain, link: Link) -> bool:
    try:
        before = bytes.fromhex(link.before)
        is_linked = chain.link(before, link.number, link.canonical.encode()).hex() == link.hash
        return is_linked and (not link.opened or opens(link.canonical, link.opened))
    except (ValueError, OverflowError):
        return False


def _compare(
    verified: Verified, place: str, run: Sequence[Link], known: dict[int, str], *, compared: bool
) -> None:
    """Compare consecutive entries with the heads of their chain."""
    hashes = {link.number: link.hash for link in run}
    numbers = f"{run[0].number} to {run[-1].number}"
    for number in sorted(hashes.keys() & known.keys()):
        if hashes[number] != known[number]:
            verified.faults.append(
                f"{place}: number {number} or one before it differs from the head that was kept"
            )
    covered = max(hashes.keys() & known.keys(), default=0)
    if covered:
        verified.notes.append(f"{place}: numbers {numbers}, by the head with number {covered}")
    else:
        verified.notes.append(
            f"{place}: numbers {numbers}: keep a head with one of these numbers to compare it"
        )
    last = max((link.number for link in run if link.about), default=0)
    if compared and last > covered:
        verified.faults.append(f"{place}: no head was given for its entries up to number {last}")


def _check_closing(verified: Verified, content: Content, segments: Sequence[Segment]) -> None:
    """Report a fault unless a log entry about the closing records the digest of this review."""
    closed = (f"review:{content.facts.get('id')}", "content", digest_of(content))
    links = (link for segment in segments if segment.log == _LOG for link in segment.links if link.about)
    if not any(closed in _closings(link) for link in links):
        verified.faults.append("no entry of the log has this content: it differs from the closed review")


def _closings(link: Link) -> list[tuple[str, str, str]]:
    """Return target, field and new value of each change in a log entry about a closing; otherwise nothing."""
    try:
        entry = msgspec.json.decode(link.canonical, type=list[Any])
        module, action, changes = (entry[place] for place in _PLACES.values())
        if (module, action) != ("review", "close"):
            return []
        return [(change["target"], change["field"], change["after"]) for change in changes or ()]
    except (*_UNREADABLE, IndexError, TypeError):
        return []
