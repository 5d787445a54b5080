"""What editors and commits are told fits the checkout."""

import shlex
import subprocess
import tomllib
from configparser import ConfigParser
from pathlib import Path
from typing import Any

import pytest
import yaml

import dev
from tests.support.cases import with_each

ROOT = Path(__file__).parents[2]
OURS = (".py", ".md", ".lua", ".yaml", ".toml", ".js", ".css", ".html", ".conf", ".csv", ".example")


def editor_config() -> ConfigParser:
    config = ConfigParser(default_section="")
    config.read_string("[top]\n" + (ROOT / ".editorconfig").read_text())
    return config


def hooks() -> list[dict[str, Any]]:
    configured = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())
    assert [repository["repo"] for repository in configured["repos"]] == ["local"]
    listed: list[dict[str, Any]] = configured["repos"][0]["hooks"]
    return listed


@pytest.fixture(scope="module")
def files() -> dict[str, bytes]:
    """The content of each file of ours that git knows, by its path."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode != 0:
        pytest.skip("this is no checkout")
    paths = (ROOT / name for name in listed.stdout.split("\0") if name.endswith(OURS))
    return {str(path.relative_to(ROOT)): path.read_bytes() for path in paths if path.exists()}


def faults_of(content: bytes) -> list[str]:
    text = content.decode()  # UTF-8, or the test fails
    lines = text.split("\n")
    faults = ["has another end of line"] if "\r" in text else []
    faults += ["ends without an end of line"] if text and lines[-1] else []
    faults += [f"line {n}: space at its end" for n, line in enumerate(lines, 1) if line != line.rstrip(" \t")]
    return faults + [f"line {n}: tab" for n, line in enumerate(lines, 1) if line.startswith("\t")]


def test_every_file_is_as_editors_are_told(files: dict[str, bytes]) -> None:
    rules = editor_config()["*"]
    assert (rules["end_of_line"], rules["insert_final_newline"], rules["trim_trailing_whitespace"]) == (
        "lf",
        "true",
        "true",
    )
    assert (rules["charset"], rules["indent_style"]) == ("utf-8", "space")
    assert len(files) > 500
    wrong = {name: faults for name, content in files.items() if (faults := faults_of(content))}
    assert wrong == {}


def test_editors_break_lines_where_ruff_does() -> None:
    ruff = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["ruff"]
    assert int(editor_config()["*.py"]["max_line_length"]) == ruff["line-length"]


@with_each("hook", hooks())
def test_a_hook_runs_a_program_of_the_checkout(hook: dict[str, Any]) -> None:
    words = shlex.split(hook["entry"])
    assert hook["language"] == "system"
    if words[:2] == ["python3", "dev.py"]:
        assert words[2] in {"check", *dev.PROGRAMS}
        assert set(words[3:]) <= {*dev.SELECTIONS, "-q"}
    else:
        (program,) = (word for word in words if word.startswith(".venv/bin/"))
        assert Path(program).name in {name for name, *_ in dev.CHECKS}
