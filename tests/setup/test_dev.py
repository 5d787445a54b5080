"""dev.py in a checkout of its own, with a stand-in for uv that notes its calls: no test may use a network."""

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import dev

ROOT = Path(__file__).parents[2]
UV = """#!/bin/sh
echo "$* $UV_PYTHON $UV_CACHE_DIR" >> "{root}/calls"
sleep 0.2
[ ! -e "{root}/broken" ] || {{ echo "no such package" >&2; exit 2; }}
mkdir -p "{root}/.venv/bin"
printf '#!/bin/sh\\necho "$PWD:$PYTHONPATH:$*"\\n' > "{root}/.venv/bin/python"
chmod +x "{root}/.venv/bin/python"
"""
PLAIN = "sync --locked --no-install-project --no-dev"
FULL = "sync --locked --no-install-project"
EXTENDED = "sync --locked --no-install-project --group extended"


class Checkout:
    """A folder with dev.py, a lock and the stand-in."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for name in ("dev.py", "pyproject.toml", "uv.lock"):
            shutil.copy(ROOT / name, root)
        self.uv = root / ".tools" / f"uv-{dev.UV}" / "bin" / "uv"
        self.uv.parent.mkdir(parents=True)
        self.uv.write_text(UV.format(root=root))
        self.uv.chmod(0o755)

    def start(
        self, *arguments: str, options: tuple[str, ...] = (), **environment: str
    ) -> subprocess.Popen[str]:
        command = (sys.executable, *options, str(self.root / "dev.py"), *arguments)
        pipe = subprocess.PIPE
        kept = {"PATH": os.environ["PATH"], "HOME": str(self.root / "home")}
        return subprocess.Popen(
            command, cwd=self.root.parent, env=kept | environment, stdout=pipe, stderr=pipe, text=True
        )

    def dev(self, *arguments: str, options: tuple[str, ...] = (), **environment: str) -> tuple[int, str, str]:
        with self.start(*arguments, options=options, **environment) as process:
            output, errors = process.communicate()
        return process.returncode, output, errors

    def calls(self) -> list[str]:
        """What uv was asked, and no longer is known after this."""
        noted = self.root / "calls"
        lines = noted.read_text().splitlines() if noted.exists() else []
        noted.unlink(missing_ok=True)
        return [line.split(f" {sys.executable}")[0] for line in lines]

    def change_lock(self) -> None:
        with (self.root / "uv.lock").open("a") as lock:
            lock.write("# changed\n")


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    root = tmp_path / "a checkout"
    root.mkdir()
    return Checkout(root)


def test_run_becomes_the_program_in_the_callers_directory(checkout: Checkout) -> None:
    status, output, _ = checkout.dev("run", "--port", "8081")
    assert (status, output) == (
        0,
        f"{checkout.root.parent}:{checkout.root}:-P -m service serve --port 8081\n",
    )


def test_tests_run_in_the_checkout_on_all_cores_and_arguments_come_last(checkout: Checkout) -> None:
    _, output, _ = checkout.dev("test", "-k", "some thing")
    place, folder, words = output.split(":")
    assert place == folder == str(checkout.root)
    assert words.startswith("-P -m pytest --numprocesses=auto ")
    assert words.endswith(" -k some thing\n")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["--fast"], [*dev.IN_PARALLEL, "-m", "not stores and not extended"]),
        (["--fast", "-m", "stores"], [*dev.IN_PARALLEL, "-m", "not stores and not extended", "-m", "stores"]),
        (
            ["--extended", "tests/web"],
            [
                *dev.IN_PARALLEL,
                "-m",
                "extended or (hypothesis and not stores)",
                "--hypothesis-profile=extended",
                "--timeout=900",
                "tests/web",
            ],
        ),
        (["tests/conftest.py"], ["tests/conftest.py"]),
        (["-x", "tests/conftest.py::test_it"], ["-x", "tests/conftest.py::test_it"]),
        (["-n", "2", "tests/conftest.py"], ["-n", "2", "tests/conftest.py"]),
        (["tests/conftest.py", "dev.py"], [*dev.IN_PARALLEL, "tests/conftest.py", "dev.py"]),
    ],
)
def test_a_selection_becomes_pytests_and_one_file_alone_needs_no_further_processes(
    monkeypatch: pytest.MonkeyPatch, given: list[str], words: list[str]
) -> None:
    monkeypatch.chdir(ROOT)
    assert dev.pytest_arguments(given) == words


def test_packages_are_installed_once(checkout: Checkout) -> None:
    checkout.dev("run")
    assert checkout.calls() == [PLAIN]
    checkout.dev("run")
    checkout.dev("portcullis", "doctor")
    assert checkout.calls() == []


def test_run_and_test_in_turn_install_nothing_back_and_forth(checkout: Checkout) -> None:
    checkout.dev("run")
    checkout.dev("test")
    assert checkout.calls() == [PLAIN, FULL]
    checkout.dev("run")
    checkout.dev("test")
    assert checkout.calls() == []


def test_a_release_is_built_by_programs_in_an_environment_of_their_own(checkout: Checkout) -> None:
    _, output, _ = checkout.dev("release")
    assert output.endswith(":-P -m tests.release\n")
    assert checkout.calls() == ["sync --locked --only-group release --no-install-project --quiet", PLAIN]


def test_extended_tests_install_more_and_nothing_takes_it_away(checkout: Checkout) -> None:
    checkout.dev("test")
    checkout.dev("test", "--extended")
    assert checkout.calls() == [FULL, EXTENDED]
    checkout.dev("run")
    checkout.dev("test")
    assert checkout.calls() == []
    checkout.change_lock()
    checkout.dev("run")
    assert checkout.calls() == [EXTENDED]


def test_a_changed_lock_is_installed_and_keeps_what_tests_need(checkout: Checkout) -> None:
    checkout.dev("test")
    checkout.change_lock()
    checkout.dev("run")
    assert checkout.calls() == [FULL, FULL]


def test_an_environment_whose_python_has_gone_is_made_anew(checkout: Checkout) -> None:
    checkout.dev("run")
    (checkout.root / ".venv" / "bin" / "python").unlink()
    assert checkout.dev("run")[0] == 0
    assert checkout.calls() == [PLAIN, PLAIN]


def test_two_at_once_install_once(checkout: Checkout) -> None:
    both = [checkout.start("run") for _ in range(2)]
    outputs = [process.communicate()[0] for process in both]
    assert outputs[0] == outputs[1] != ""
    assert checkout.calls() == [PLAIN]


def test_a_failed_installation_is_one_sentence_and_is_tried_again(checkout: Checkout) -> None:
    (checkout.root / "broken").touch()
    status, output, errors = checkout.dev("run")
    assert (status, output) == (1, "")
    assert errors.splitlines()[-1] == "dev.py: the packages can't be installed; the reason stands above"
    (checkout.root / "broken").unlink()
    assert checkout.dev("run")[0] == 0


def test_uv_uses_this_python_and_the_usual_cache(checkout: Checkout) -> None:
    checkout.dev("run")
    assert (checkout.root / "calls").read_text() == f"{PLAIN} {sys.executable} \n"


def test_a_home_that_can_not_be_written_moves_the_cache_into_the_checkout(checkout: Checkout) -> None:
    checkout.dev("run", HOME="/proc/nowhere")
    assert (checkout.root / "calls").read_text().endswith(f" {checkout.root}/.tools/cache\n")


def test_npm_has_a_cache_that_can_be_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("npm_config_cache", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert "npm_config_cache" not in dev.environment_of_npm()
    monkeypatch.setenv("HOME", "/proc/nowhere")
    assert dev.environment_of_npm()["npm_config_cache"] == str(dev.TOOLS / "npm")
    monkeypatch.setenv("npm_config_cache", "/elsewhere")
    assert dev.environment_of_npm()["npm_config_cache"] == "/elsewhere"


def test_a_python_without_pip_is_told_so_in_one_sentence(checkout: Checkout) -> None:
    shutil.rmtree(checkout.uv.parents[1])
    status, _, errors = checkout.dev("run", options=("-I", "-S"))  # without site-packages
    assert status == 1
    assert errors.startswith("dev.py: this Python has no pip")
    assert errors.count("\n") == 1


def test_a_checkout_that_can_not_be_written_is_told_in_one_sentence(checkout: Checkout) -> None:
    shutil.rmtree(checkout.root / ".tools")
    (checkout.root / ".tools").touch()
    status, _, errors = checkout.dev("run")
    assert status == 1
    assert errors.startswith("dev.py: the checkout can't be written: ")
    assert errors.count("\n") == 1


def test_every_check_runs_although_one_fails(checkout: Checkout) -> None:
    checkout.dev("test")
    for name, *_ in dev.CHECKS:
        program = checkout.root / ".venv" / "bin" / name
        program.write_text(f'#!/bin/sh\necho ran "{name} $*"\n[ {name} != mypy ]\n')
        program.chmod(0o755)
    status, output, errors = checkout.dev("check", PATH="/nowhere")
    assert status == 1
    assert errors.splitlines() == [
        "dev.py: the alert rules are not checked: promtool is missing",
        "dev.py: the scripts of the console are not checked: Node or npm is missing",
        "dev.py: failed: mypy",
    ]
    ran = [line.removeprefix("ran ").strip() for line in output.splitlines() if line.startswith("ran ")]
    assert ran == [" ".join(check) for check in dev.CHECKS]


def test_an_unknown_command_shows_the_known_ones(checkout: Checkout) -> None:
    status, output, _ = checkout.dev("sevre")
    assert status == 2
    assert "python3 dev.py run [--host H] [--port N] [--workers N] [--data DIR]" in output


def test_an_older_python_can_read_dev_py_far_enough_to_refuse() -> None:
    ast.parse((ROOT / "dev.py").read_text(), feature_version=(3, 7))
