"""The start-up check of the module casbin, on real installs that were tampered with."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import shutil
import sys
from pathlib import Path

import pytest

from service.installation import InstallationError, check_installation


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder with a copy of the installed pycasbin."""
    distribution = importlib.metadata.distribution("pycasbin")
    for file in distribution.files or []:
        if file.parts[0] == "casbin" or file.parts[0].endswith(".dist-info"):
            target = tmp_path / file
            target.parent.mkdir(parents=True, exist_ok=True)
            if Path(str(file.locate())).exists():
                shutil.copyfile(str(file.locate()), target)
    return tmp_path


def test_the_installation_that_runs_these_tests_is_whole() -> None:
    check_installation()


def test_an_untouched_copy_is_whole(site: Path) -> None:
    check_installation([str(site)])


def test_the_predecessor_beside_an_intact_pycasbin_is_no_fault(site: Path) -> None:
    leave_traces_of_the_predecessor(site)
    check_installation([str(site)])


def test_an_overwritten_file_is_refused_with_the_command_that_mends_it(
    site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    leave_traces_of_the_predecessor(site)
    core = site / "casbin" / "core_enforcer.py"
    core.write_text(core.read_text() + "\n")
    monkeypatch.setattr(sys, "executable", "/opt/a place/python")
    version = importlib.metadata.version("pycasbin")
    with pytest.raises(InstallationError) as refusal:
        check_installation([str(site)])
    text = str(refusal.value)
    assert text.startswith("1 of ")
    assert f"files of pycasbin {version} are missing or not its own, casbin/core_enforcer.py for one" in text
    pip = f"'/opt/a place/python' -m pip install --force-reinstall --no-deps pycasbin=={version}"
    uv = f"uv pip install --python '/opt/a place/python' --reinstall --no-deps pycasbin=={version}"
    assert text.splitlines()[-1].strip() == (pip if importlib.util.find_spec("pip") else uv)


def test_files_that_went_with_the_predecessor_are_missed(site: Path) -> None:
    shutil.rmtree(site / "casbin")
    with pytest.raises(InstallationError, match=r"^(\d+) of \1 files"):
        check_installation([str(site)])


def test_a_single_missing_file_is_missed(site: Path) -> None:
    (site / "casbin" / "util" / "builtin_operators.py").unlink()
    with pytest.raises(InstallationError, match=r"^1 of .* casbin/util/builtin_operators\.py for one"):
        check_installation([str(site)])


def test_the_predecessor_alone_is_refused(tmp_path: Path) -> None:
    leave_traces_of_the_predecessor(tmp_path)
    with pytest.raises(InstallationError, match="pycasbin is not installed"):
        check_installation([str(tmp_path)])


def test_an_install_without_a_list_of_files_is_refused(site: Path) -> None:
    next(site.glob("pycasbin-*.dist-info/RECORD")).unlink()
    with pytest.raises(InstallationError, match="no list of its files"):
        check_installation([str(site)])


def test_a_module_that_hides_the_installed_one_is_refused(
    site: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "casbin").mkdir()
    (elsewhere / "casbin" / "__init__.py").touch()
    with pytest.raises(InstallationError, match=r"elsewhere\d+/casbin/__init__\.py, not .* of pycasbin"):
        check_installation([str(elsewhere), str(site)])


def leave_traces_of_the_predecessor(site: Path) -> None:
    information = site / "casbin-1.43.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: casbin\nVersion: 1.43.0\n")
    (information / "RECORD").write_text("casbin/core_enforcer.py,sha256=AAAA,1\n")
