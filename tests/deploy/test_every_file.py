"""Nothing in deploy/ is believed: each file is validated by `dev.py check`, or used by a test."""

import fnmatch
from pathlib import Path

import dev
from tests.docs.pages import pages
from tests.support.cases import with_each

ROOT = Path(__file__).resolve().parents[2]
UNTRACKED = {"deploy/.env"}
FILES = sorted(
    {str(path.relative_to(ROOT)) for path in (ROOT / "deploy").rglob("*") if path.is_file()} - UNTRACKED
)
CHECKED = {word for check in (*dev.CHECKS, *dev.RULE_CHECKS) for word in check if word.startswith("deploy/")}
TESTED = {
    "deploy/.env.example": "tests/deploy/test_compose.py",
    "deploy/.gitignore": "tests/deploy/test_compose.py",
    "deploy/Dockerfile.dockerignore": "tests/deploy/test_image.py",
    "deploy/bill.py": "tests/deploy/test_bill.py",
    "deploy/carried.json": "tests/deploy/test_bill.py",
    "deploy/backup.sh": "tests/deploy/test_systemd.py",
    "deploy/systemd/*": "tests/deploy/test_systemd.py",
    "deploy/caddy/Caddyfile": "tests/deploy/test_proxies.py",
    "deploy/nginx/portcullis.conf": "tests/deploy/test_proxies.py",
    "deploy/grafana/portcullis.json": "tests/deploy/test_monitoring.py",
    "deploy/grafana/da*.yaml": "tests/deploy/test_compose.py",
    "deploy/prometheus/containers.yaml": "tests/deploy/test_compose.py",
    "deploy/pdp/pdp.toml": "tests/deploy/test_pdp.py",
    "deploy/ready.py": "tests/deploy/test_image.py",
    "deploy/kubernetes/components/*": "tests/deploy/test_kubernetes.py",
    "deploy/kubernetes/*/kustomization.yaml": "tests/deploy/test_kubernetes.py",
}
"""The test that uses a file, by its path; it names the file, or the folder whose files it takes."""


@with_each("path", FILES)
def test_a_file_is_validated_or_used(path: str) -> None:
    tests = {test for pattern, test in TESTED.items() if fnmatch.fnmatchcase(path, pattern)}
    assert path in CHECKED or tests or ROOT / path in pages()


@with_each(("pattern", "test"), TESTED.items())
def test_what_is_named_here_is_there(pattern: str, test: str) -> None:
    assert fnmatch.filter(FILES, pattern)
    words = [Path(pattern).name, *Path(pattern).parts[1:-1]]
    assert any(word in (ROOT / test).read_text(encoding="utf-8") for word in words if "*" not in word)


def test_a_check_names_only_files_that_are_there() -> None:
    assert {*FILES} >= CHECKED
