"""The units of deploy/systemd, judged by systemd's own programs, and the script that their backup runs."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from service.server.stop_order import DRAIN, GRACE, STOP_MARGIN
from tests.support.cases import with_each

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
SYSTEMD = DEPLOY / "systemd"
SERVICES = ("portcullis.service", "portcullis-backup.service")
UNITS = (*SERVICES, "portcullis-backup.timer")
EXPOSURE = 15  # tenths: "1.5 OK"; what is left is the network, and that the root is not another one
SAME = "# What follows is the same"

needs_systemd = pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="systemd-analyze, of systemd, is missing"
)


def text_of(name: str) -> str:
    return (SYSTEMD / name).read_text(encoding="utf-8")


def value_of(name: str, key: str) -> str:
    (setting,) = re.findall(rf"^{key}=(.*)$", text_of(name), re.MULTILINE)
    return str(setting)


@pytest.fixture(scope="module")
def units(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The units, with a program that is there."""
    folder = tmp_path_factory.mktemp("units")
    program = folder / "program"
    program.touch(mode=0o755)
    for name in UNITS:
        changed = re.sub(r"/opt/portcullis/bin/portcullis(-backup)?\b", str(program), text_of(name))
        (folder / name).write_text(changed, encoding="utf-8")
    return folder


def analyze(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["systemd-analyze", "--no-pager", *arguments],
        cwd=folder,
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@needs_systemd
@with_each("name", UNITS)
def test_systemd_has_nothing_to_say_about_a_unit(units: Path, name: str) -> None:
    analysis = analyze("verify", f"./{name}", folder=units)  # its status is 0 for a key that it does not know
    assert (analysis.returncode, analysis.stdout + analysis.stderr) == (0, "")


@needs_systemd
def test_a_misspelt_key_is_noticed(units: Path) -> None:
    (units / "misspelt.service").write_text(
        (units / "portcullis.service").read_text().replace("ProtectHome", "ProtectHouse")
    )
    assert "ProtectHouse" in analyze("verify", "./misspelt.service", folder=units).stderr


@needs_systemd
@with_each("name", SERVICES)
def test_a_service_can_do_little_beside_its_work(units: Path, name: str) -> None:
    analysis = analyze("security", "--offline=true", f"--threshold={EXPOSURE}", f"./{name}", folder=units)
    assert analysis.returncode == 0, analysis.stdout


def test_the_service_and_its_backup_are_confined_alike() -> None:
    (service, backup) = (text_of(name).partition(SAME)[2].splitlines()[1:] for name in SERVICES)
    confined = [line for line in service[: service.index("[Install]")] if line]
    different = {"StateDirectory=portcullis", "StateDirectory=portcullis portcullis-backup"}
    assert {*confined} ^ {*backup} == different


def test_a_stop_has_the_time_that_it_takes() -> None:
    given = int(value_of("portcullis.service", "TimeoutStopSec").removesuffix("s"))
    assert given > GRACE + DRAIN + STOP_MARGIN


def test_a_command_of_root_has_the_settings_and_the_account_of_the_service(tmp_path: Path) -> None:
    (tmp_path / "portcullis.env").write_text("DATABASE_URL='postgresql://u@/d?host=/run&port=5433'\n")
    (tmp_path / "runuser").write_text('#!/bin/sh\nenv\necho "$@"\n')
    (tmp_path / "runuser").chmod(0o755)
    script = text_of("portcullis").replace("/etc/portcullis", str(tmp_path))
    done = subprocess.run(
        ["sh", "-c", script, "portcullis", "admin", "list"],
        env={"PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    *variables, words = done.stdout.splitlines()
    assert words == "-u portcullis -- /opt/portcullis/bin/portcullis admin list"
    assert "DATABASE_URL=postgresql://u@/d?host=/run&port=5433" in variables
    settings = value_of("portcullis.service", "Environment").split()[:2]
    assert {*settings} <= {*variables}


def backup(folder: Path, status: int = 0) -> subprocess.CompletedProcess[str]:
    """Run deploy/backup.sh with a ``portcullis`` that writes what it is told to, and ends with ``status``."""
    programs = folder / "programs"
    programs.mkdir(exist_ok=True)
    (programs / "portcullis").write_text(
        f'#!/bin/sh\necho "$@" >> "{folder}/told"\n[ "$2" = --verify ] || : > "$2"\nexit {status}\n'
    )
    (programs / "portcullis").chmod(0o755)
    return subprocess.run(
        [DEPLOY / "backup.sh", folder / "backups", "30"],
        env={"PATH": f"{programs}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_a_backup_is_looked_through_before_old_ones_go(tmp_path: Path) -> None:
    backups = tmp_path / "backups"
    backups.mkdir()
    for name, days in (("old.tar", 32), ("recent.tar", 29), ("old.txt", 32)):
        (backups / name).touch()
        at = (backups / name).stat().st_mtime - days * 86400
        os.utime(backups / name, (at, at))
    assert backup(tmp_path).returncode == 0
    made, verified = (tmp_path / "told").read_text().splitlines()
    assert re.fullmatch(rf"backup {backups}/\d{{4}}-\d\d-\d\dT\d{{6}}Z\.tar", made)
    assert verified == made.replace("backup ", "backup --verify ")
    assert {path.name for path in backups.iterdir()} == {"recent.tar", "old.txt", Path(made.split()[1]).name}


def test_what_a_killed_backup_has_left_goes_first(tmp_path: Path) -> None:
    backups = tmp_path / "backups"
    backups.mkdir()
    for name, hours in ((".a.tar.0a1b2c3d", 25), (".b.tar.0a1b2c3d", 23), (".c.tar", 25), ("d.tar", 25)):
        (backups / name).touch()
        at = (backups / name).stat().st_mtime - hours * 3600
        os.utime(backups / name, (at, at))
    assert backup(tmp_path, status=1).returncode == 1
    left = {path.name for path in backups.iterdir()}
    assert left >= {".b.tar.0a1b2c3d", ".c.tar", "d.tar"}
    assert ".a.tar.0a1b2c3d" not in left


def test_a_backup_that_fails_deletes_no_other_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "backups").mkdir()
    old = tmp_path / "backups" / "old.tar"
    old.touch()
    os.utime(old, (0, 0))
    assert backup(tmp_path, status=1).returncode == 1
    assert old.exists()
