"""Add to a bill of materials (CycloneDX, JSON) what packages and the checkout carry of others.

    python3 deploy/bill.py BILL [OUTPUT]

Tools that read an environment see packages alone: not the servers, scripts and lists inside of them. Those
are named in carried.json, each with the package that carries it, or with its file, whose digest is added. A
part of a package that is not in the bill is left out. OUTPUT is a file, or ``-`` for standard output; without
it BILL is completed in its place.
"""

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
CARRIED = Path(__file__).with_name("carried.json")


def completed(bill: dict[str, Any], carried: list[dict[str, Any]], root: Path = ROOT) -> dict[str, Any]:
    """Return ``bill`` with the parts of ``carried``; FileNotFoundError if a file is not below ``root``."""
    references = {part["name"].lower(): part["bom-ref"] for part in bill["components"]}
    whole = bill["metadata"]["component"]["bom-ref"]
    added: list[dict[str, Any]] = []
    needed = {entry["ref"]: entry for entry in bill["dependencies"]}
    for entry in carried:
        part = dict(entry)
        carrier, file = part.pop("carrier", None), part.pop("file", None)
        if carrier is not None and carrier not in references:
            continue
        part["bom-ref"] = f"carried:{part['name']}@{part['version']}"
        if file is not None:
            digest = hashlib.sha256((root / file).read_bytes()).hexdigest()
            part["hashes"] = [{"alg": "SHA-256", "content": digest}]
        part["properties"] = [{"name": "portcullis:carried-in", "value": carrier or file}]
        added.append(part)
        needs = needed.setdefault(reference := references.get(carrier, whole), {"ref": reference})
        needs["dependsOn"] = sorted({*needs.get("dependsOn", ()), part["bom-ref"]})
        needed[part["bom-ref"]] = {"ref": part["bom-ref"]}
    dependencies = sorted(needed.values(), key=lambda entry: str(entry["ref"]))
    return bill | {"components": [*bill["components"], *added], "dependencies": dependencies}


def main(source: str, output: str | None = None) -> None:
    """Complete the bill in the file ``source``."""
    bill = completed(json.loads(Path(source).read_text("utf-8")), json.loads(CARRIED.read_text("utf-8")))
    text = json.dumps(bill, indent=2, ensure_ascii=False) + "\n"
    if output == "-":
        sys.stdout.write(text)
    else:
        Path(output or source).write_text(text, "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
