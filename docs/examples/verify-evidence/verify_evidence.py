"""Verify an archive of evidence without Portcullis: one file, Python's standard library, no network.

    python3 verify_evidence.py review.zip --heads heads.log --key-file key

Checks the SHA-256 of each file, that tables and page say what content.json says, the seal, the chain of each
entry of the log, and that the entries lead to a head that you have kept. Without the key, the seal and the
entries of chains with a key can't be checked: that is a fault. Exit status 0: the archive is unchanged.
Get this file from the project, not from an archive that you doubt.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import hmac
import html
import io
import json
import re
import sys
import zipfile
from pathlib import Path
from typing import Any

CONTENT, LOG, MANIFEST, PAGE, SCRIPT = (
    "content.json",
    "log.json",
    "manifest.json",
    "index.html",
    "verify_evidence.py",
)
KEYLESS = "sealed without a key (oplog.chain_key)"
COMPUTED = re.compile("'*[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")  # what a spreadsheet would compute
STYLE = (
    "body{font:10pt sans-serif;margin:1.5cm}table{border-collapse:collapse;width:100%}"
    "th,td{border:1px solid #999;padding:2px 4px;text-align:left;vertical-align:top;overflow-wrap:anywhere}"
    "@page{size:A4 landscape}tr{break-inside:avoid}"
)
POLICY = "default-src 'none'; style-src 'unsafe-inline'"
HOW = (
    "This archive is verified by portcullis audit verify --evidence, or without Portcullis by the "
    "script below: save it, and run python3 verify_evidence.py with the archive, --heads with the heads that "
    "you have kept, and --key-file. In doubt about the archive take the script from the project's "
    "docs/examples/verify-evidence."
)


def main(arguments: list[str]) -> int:
    """Print what the archive is, and what is wrong with it; return 1 for a fault, else 0."""
    parser = argparse.ArgumentParser(description="Verify an archive of evidence of Portcullis.")
    parser.add_argument("archive", help="the archive, such as review.zip")
    parser.add_argument("--heads", help="lines of the service's log with heads, which you have kept")
    parser.add_argument("--key-file", help="a file with keys of the chains (oplog.chain_key), one a line")
    options = parser.parse_args(arguments)
    keys = lines_of(options.key_file)
    notes, faults = verify(Path(options.archive).read_bytes(), keys, heads_in(lines_of(options.heads)))
    end = f"{options.archive} {'was CHANGED after it was created' if faults else 'is unchanged'}"
    for line in (*notes, *(f"FAULT: {fault}" for fault in faults), end):
        sys.stdout.write(f"{line}\n")
    return 1 if faults else 0


def lines_of(name: str | None) -> list[str]:
    """Return the lines of a file that are not empty."""
    return [] if name is None else [line for line in Path(name).read_text("utf-8").splitlines() if line]


def heads_in(lines: list[str]) -> dict[tuple[str, str, str], dict[int, str]]:
    """Return the heads that lines of the log tell, by chain and number; other lines are skipped."""
    heads: dict[tuple[str, str, str], dict[int, str]] = {}
    for line in lines:
        try:
            head = json.loads(line)
            if head["event"] == "head of a log":
                chain = head["log"], head["day"], head["key_id"]
                heads.setdefault(chain, {})[int(head["number"])] = head["hash"]
        except (ValueError, KeyError, TypeError):
            continue
    return heads


def digest(key: str, content: bytes) -> str:
    """Return the hash or seal of ``content``: by a key HMAC-SHA-256, else SHA-256."""
    if key:
        return hmac.new(key.encode(), content, "sha256").hexdigest()
    return hashlib.sha256(content).hexdigest()


def key_of(key_id: str, keys: list[str]) -> str | None:
    """Return the key with an id, the empty one for the empty id; None if it was not given."""
    if not key_id:
        return ""
    return next((key for key in keys if digest(key, b"portcullis: id of the key")[:8] == key_id), None)


def text_of(value: Any) -> str:
    """Return a value as tables show it: a text as it is, everything else as JSON."""
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def verify(
    data: bytes, keys: list[str], heads: dict[tuple[str, str, str], dict[int, str]]
) -> tuple[list[str], list[str]]:
    """Return notes and faults of the archive ``data``."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            listed = archive.infolist()
            if any(each.compress_type != zipfile.ZIP_STORED for each in listed):
                return [], ["it has compressed files"]
            files = {each.filename: archive.read(each) for each in listed}
        manifest, content, log = (json.loads(files[name]) for name in (MANIFEST, CONTENT, LOG))
        notes = [f"{manifest['kind']}: made {manifest['made']} by {manifest['made_by']}"]
        faults = list(of_files(data, files, manifest, content))
        faults += of_seal(manifest, keys, notes)
        for segment in log:
            faults += of_segment(segment, keys, heads, notes)
        if content["kind"] == "review" and content["facts"].get("state") == "closed":
            faults += of_closing(files[CONTENT], manifest, content, log)
    except (
        zipfile.BadZipFile,
        ValueError,
        KeyError,
        TypeError,
        IndexError,
        EOFError,
        RecursionError,
    ) as error:
        return [], [f"the archive can't be read: {error!r}"]
    if not heads:
        notes.append("not compared with a head: only the chain key was verified")
    return notes, faults


def of_files(data: bytes, files: dict[str, bytes], manifest: Any, content: Any) -> list[str]:
    """Return which files are not those of the manifest, or do not say what content.json says."""
    made = {f"{name}.csv": as_csv(table) for name, table in content["tables"].items()}
    made[PAGE] = as_page(content, files.get(SCRIPT))
    digests = {name: hashlib.sha256(file).hexdigest() for name, file in files.items() if name != MANIFEST}
    changed = {name for name, _ in set(digests.items()) ^ set(manifest["files"].items())}
    changed |= {name for name, file in made.items() if files.get(name) != file}
    changed |= set(files) - {MANIFEST, CONTENT, LOG, SCRIPT, *made}
    faults = [f"{name} was changed after it was created" for name in sorted(changed)]
    if manifest["kind"] != content["kind"]:
        faults.append("its manifest is that of another kind of evidence")
    again = io.BytesIO()
    with zipfile.ZipFile(again, "w", zipfile.ZIP_STORED) as archive:
        for name, file in files.items():
            archive.writestr(zipfile.ZipInfo(name), file)
    if again.getvalue() != data:
        faults.append("the archive has bytes that are not of its files")
    return faults


def as_csv(table: Any) -> bytes:
    """Return a table of content.json as its file."""
    text = io.StringIO()
    writer = csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\r\n")
    writer.writerow(table["columns"])
    for row in table["rows"]:
        cells = map(text_of, row)
        writer.writerow([f"'{cell}" if COMPUTED.match(cell) else cell for cell in cells])
    return text.getvalue().encode()


def as_page(content: Any, script: bytes | None) -> bytes:
    """Return the page of content.json."""
    facts = content["facts"]
    title = html.escape(f"Evidence: {content['kind']} {text_of(facts.get('title') or facts.get('userName'))}")
    parts = [
        '<!doctype html><html lang="en"><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
        f"<title>{title}</title><style>{STYLE}</style><h1>{title}</h1>",
        as_html(["fact", "value"], [[name, facts[name]] for name in sorted(facts)]),
    ]
    for name in sorted(content["tables"]):
        table = content["tables"][name]
        parts += [f"<h2>{html.escape(name)}</h2>", as_html(table["columns"], table["rows"])]
    if script is not None:
        parts += [f"<h2>How to verify it</h2><p>{HOW}</p>", f"<pre>{html.escape(script.decode())}</pre>"]
    return "\n".join(parts).encode()


def as_html(columns: list[str], rows: list[list[Any]]) -> str:
    """Return a table of the page."""
    head = "".join(f"<th>{html.escape(name)}</th>" for name in columns)
    body = "\n".join(
        "<tr>" + "".join(f"<td>{html.escape(text_of(value))}</td>" for value in row) + "</tr>" for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table>"


def of_seal(manifest: Any, keys: list[str], notes: list[str]) -> list[str]:
    """Return what is wrong with the seal over the manifest."""
    if not manifest["key_id"]:
        notes.append(f"{KEYLESS}: anybody could have made it, but not the entries before a head")
    key = key_of(manifest["key_id"], keys)
    if key is None:
        return [f"it is sealed with the key {manifest['key_id']}, which was not given"]
    faults = ["it is sealed without a key, and one was given"] if keys and not manifest["key_id"] else []
    facts = text_of({**manifest, "seal": ""})
    if digest(key, f"portcullis: evidence {facts}".encode()) != manifest["seal"]:
        faults.append("its seal is not that of its manifest")
    return faults


def opens(link: dict[str, Any]) -> bool:
    """Return true if the opened values of an entry are those that it commits to; erased ones have no salt."""
    opened = link.get("opened", [])
    commitments = re.findall(r'{"c":"([0-9a-f]{64})"}', link["canonical"])
    return not opened or (
        len(opened) == len(commitments)
        and all(
            not salt or hashlib.sha256(bytes.fromhex(salt) + value.encode()).hexdigest() == commitment
            for (salt, value), commitment in zip(opened, commitments, strict=True)
        )
    )


def of_segment(
    segment: Any, keys: list[str], heads: dict[tuple[str, str, str], dict[int, str]], notes: list[str]
) -> list[str]:
    """Return what is wrong with the entries of a chain: each covers the one before, up to a head."""
    place = f"{segment['log']} {segment['day']}"
    key = key_of(segment["key_id"], keys)
    if key is None:
        return [f"{place}: its chain was made with the key {segment['key_id']}, which was not given"]
    faults = []
    if keys and not segment["key_id"]:
        faults.append(f"{place}: its chain was made without a key, and one was given")
    runs: list[list[Any]] = []
    for link in segment["links"]:
        before = runs[-1][-1] if runs else None
        follows = before is not None and link["number"] == before["number"] + 1
        covered = (
            bytes.fromhex(link["before"]) + link["number"].to_bytes(8, "big") + link["canonical"].encode()
        )
        is_linked = (not follows or link["before"] == before["hash"]) and opens(link)
        if digest(key, covered) != link["hash"] or not is_linked:
            faults.append(f"{place}: entry number {link['number']} was changed after it was written")
        if not follows:
            runs.append([])
        runs[-1].append(link)
    known = heads.get((segment["log"], segment["day"], segment["key_id"]), {})
    for run in runs:
        faults += of_run(place, run, known, notes, compared=bool(heads))
    return faults


def of_run(
    place: str, run: list[Any], known: dict[int, str], notes: list[str], *, compared: bool
) -> list[str]:
    """Return what is wrong with entries without a gap, by the heads of their chain."""
    hashes = {link["number"]: link["hash"] for link in run}
    met = sorted(set(hashes) & set(known))
    faults = [
        f"{place}: number {number} or one before it differs from the head that was kept"
        for number in met
        if hashes[number] != known[number]
    ]
    covered = met[-1] if met else 0
    by = f"by the head with number {covered}" if covered else "keep a head with one of these to compare it"
    notes.append(f"{place}: numbers {run[0]['number']} to {run[-1]['number']}: {by}")
    last = max((link["number"] for link in run if link["about"]), default=0)
    if compared and last > covered:
        faults.append(f"{place}: no head was given for its entries up to number {last}")
    return faults


def of_closing(file: bytes, manifest: Any, content: Any, log: Any) -> list[str]:
    """Return a fault unless an entry about the end of the review tells the SHA-256 of content.json."""
    places = [manifest["columns"].index(name) for name in ("module", "action", "changes")]
    expected = f"review:{content['facts']['id']}", "content", f"sha256:{hashlib.sha256(file).hexdigest()}"
    for link in (link for segment in log for link in segment["links"] if link["about"]):
        entry = json.loads(link["canonical"])
        module, action, changes = (entry[place] if place < len(entry) else None for place in places)
        if (module, action) == ("review", "close"):
            for change in changes or ():
                if (change["target"], change["field"], change["after"]) == expected:
                    return []
    return ["no entry of the log has this content: it differs from the closed review"]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
