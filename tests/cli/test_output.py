"""All commands print through one place, which lets no control character pass."""

import ast
import json
from pathlib import Path

import pytest

from service.cli.output import aligned, say, say_text
from service.kernel.operator_error import FaultsError
from tests.support.running import ROOT

UNSEEN = "\x00\x07\x08\t\r\x1b\x7f\x85\x9b\u061c\u200e\u2028\u202e\u2066\ud800"


def printing(path: Path) -> list[int]:
    """Return the lines of a file that print, or that write to standard output or standard error."""
    return [
        node.lineno
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if (isinstance(node, ast.Name) and node.id == "print")
        or (
            isinstance(node, ast.Attribute)
            and node.attr in ("write", "writelines")
            and "std" in ast.dump(node)
        )
    ]


def test_no_command_prints_past_that_place() -> None:
    files = sorted((ROOT / "service" / "cli").rglob("*.py"))
    lines_by_path = {str(path.relative_to(ROOT)): lines for path in files if (lines := printing(path))}
    assert set(lines_by_path) == {"service/cli/output.py"}


def test_a_line_stays_a_line_whatever_it_holds(capsys: pytest.CaptureFixture[str]) -> None:
    say(f"a{UNSEEN}b\nc", "d")
    first, second = capsys.readouterr().out.splitlines()
    assert first.isprintable()
    assert first.endswith("b\\nc")
    assert second == "d"


def test_a_text_keeps_its_lines_and_json_its_meaning(capsys: pytest.CaptureFixture[str]) -> None:
    text = json.dumps({"name": UNSEEN}, ensure_ascii=False, indent=1)
    say_text(text)
    printed = capsys.readouterr().out
    assert all(line.isprintable() for line in printed.splitlines())
    assert len(printed.splitlines()) == 3
    assert json.loads(printed) == {"name": UNSEEN}


def test_a_cell_stays_in_its_row() -> None:
    assert aligned([("A", "B"), ("x\ny", "\x1b[2J")]) == ["A     B", "x\\ny  \\x1b[2J"]
    assert aligned([]) == []


def test_the_faults_of_a_file_are_a_line_each() -> None:
    error = FaultsError(["file.yaml:1: there is no field 'a\nb\x1b'", "file.yaml:2: and so on"])
    assert str(error).splitlines() == [r"file.yaml:1: there is no field 'a\nb\x1b'", "file.yaml:2: and so on"]
