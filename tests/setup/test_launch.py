"""The command of an installation beside packages of others that are called ``service`` too."""

import base64
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.running import ROOT

SCRIPT = "import sys\nfrom portcullis_admin import main\nsys.exit(main())\n"


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder of installed packages, as the wheel fills it, with the script of the command beside it."""
    site = tmp_path / "site"
    site.mkdir()
    (site / "service").symlink_to(ROOT / "service")
    shutil.copy(ROOT / "service" / "launch.py", site / "portcullis_admin.py")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "portcullis").write_text(SCRIPT)
    return site


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a package that is called ``service`` and tells when it is imported."""
    folder = tmp_path / "shop"
    (folder / "service").mkdir(parents=True)
    for name in ("__init__", "__main__"):
        (folder / "service" / f"{name}.py").write_text("print('the foreign package was imported')\n")
    return folder


def run(site: Path, *words: str, cwd: Path, path: tuple[Path, ...]) -> subprocess.CompletedProcess[str]:
    variables = {"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(map(str, path)), "HOME": str(cwd)}
    command = [sys.executable, str(site.parent / "bin" / "portcullis"), *words]
    return subprocess.run(command, cwd=cwd, env=variables, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "words", [("serve",), ("policy", "check"), ("doctor",), ("--version",)], ids=" ".join
)
def test_a_foreign_package_before_ours_ends_every_command_with_a_sentence(
    site: Path, project: Path, words: tuple[str, ...]
) -> None:
    ended = run(site, *words, cwd=project, path=(project, site))
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.startswith(
        f"portcullis: the Python package service is {project}/service/__init__.py, not "
    )
    assert ended.stderr.count("\n") == 1


def test_a_module_of_the_name_is_found_too(site: Path, project: Path) -> None:
    shutil.rmtree(project / "service")
    (project / "service.py").write_text("print('imported')\n")
    ended = run(site, "--version", cwd=project, path=(project, site))
    assert (ended.returncode, ended.stdout) == (1, "")
    assert f"service is {project}/service.py" in ended.stderr


@pytest.mark.parametrize("last", [True, False], ids=["behind ours", "in the current folder"])
def test_a_foreign_package_that_is_not_first_changes_nothing(site: Path, project: Path, last: bool) -> None:
    ended = run(site, "--version", cwd=project, path=(site, project) if last else (site,))
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.startswith("portcullis ")


def test_the_module_of_the_command_looks_before_it_runs(site: Path, project: Path) -> None:
    command = [sys.executable, "-m", "portcullis_admin", "--version"]
    ended = subprocess.run(
        command, cwd=project, env={"PYTHONPATH": str(site)}, capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stdout) == (1, "")
    assert f"service is {project}/service/__init__.py" in ended.stderr


@pytest.mark.parametrize("changed", [False, True])
def test_a_file_that_another_distribution_has_written_over_ours_is_named(site: Path, changed: bool) -> None:
    record = site / "portcullis_admin-1.0.dist-info"
    record.mkdir()
    (record / "METADATA").write_text("Metadata-Version: 2.4\nName: portcullis-admin\nVersion: 1.0\n")
    content = (site / "service" / "__main__.py").read_bytes() + (b"#" if changed else b"")
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    (record / "RECORD").write_text(f"service/__main__.py,sha256={digest},{len(content)}\n")
    ended = run(site, "--version", cwd=site.parent, path=(site,))
    assert ended.returncode == int(changed), ended.stderr
    assert (
        f"{site}/service/__main__.py is not the file that portcullis-admin has installed" in ended.stderr
    ) is changed


def test_an_editable_installation_runs_its_checkout(site: Path) -> None:
    (site / "service").unlink()
    ended = run(site, "--version", cwd=site.parent, path=(site, ROOT))
    assert (ended.returncode, ended.stderr) == (0, "")


CHILD = """
from service.server.children import import_what_the_launcher_does, processes


def work():
    import service

    print(service.__file__, flush=True)


if __name__ == "__main__":
    import_what_the_launcher_does()
    child = processes.Process(target=work)
    child.start()
    child.join()
"""


def test_workers_import_what_the_launcher_does_and_not_what_is_in_the_current_folder(
    site: Path, project: Path
) -> None:
    (site.parent / "bin" / "portcullis").write_text(CHILD)
    ended = run(site, cwd=project, path=(site,))
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout == f"{site}/service/__init__.py\n"
