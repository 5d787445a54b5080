"""Documents of others that ``resource import`` reads: what it takes, and what it refuses before it costs."""

import json
import subprocess
import sys
from argparse import Namespace
from pathlib import Path

import pytest

from service.cli.output import show
from service.features.tables.commands import BOUNDS, MOST_JSON_VALUES, as_lines, import_report, read_document
from service.features.tables.resource_import import ImportPlan, operations_of
from service.kernel.operator_error import OperatorError
from service.kernel.services import Service
from service.laboratory.strict_yaml import YamlError
from tests.support.cases import with_each
from tests.support.running import ROOT

HEAD = "openapi: 3.0.0\npaths:\n  /a: {get: {summary: A}}\n"
MERGES = (
    HEAD
    + "x0: &x0 {a: 1}\n"
    + "".join(f"x{n}: &x{n} {{<<: [{', '.join([f'*x{n - 1}'] * 9)}]}}\n" for n in range(1, 9))
)
ALIASES = (
    HEAD + "x0: &x0 [a]\n" + "".join(f"x{n}: &x{n} [{', '.join([f'*x{n - 1}'] * 9)}]\n" for n in range(1, 9))
)
IN_LITTLE_MEMORY = """
import resource, sys
from pathlib import Path
from service.features.tables.commands import read_document
from service.kernel.operator_error import OperatorError
used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + int(sys.argv[1]), resource.RLIM_INFINITY))
resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
for name in sys.argv[2:]:
    try:
        read_document(Path(name))
    except OperatorError as error:
        print(error)
"""
COSTLY = {
    "merges": (MERGES, "aliases are not read"),
    "aliases": (ALIASES, "aliases are not read"),
    "values": ("[" + "a," * 7_000_000 + "]", f"more than {BOUNDS.values} values"),
    "plain": ("a: " + "1:" * 8_000_000 + "1", "a value of more than 65536 characters needs quotes"),
    "number": ("a: " + "1:" * 30_000 + "1", "a number of more than 100 characters is not read"),
    "nesting": ("a: " + "[" * 8_000_000, "deep nesting is not read"),
    "json-values": ('{"a":[' + "[]," * 5_000_000 + "1]}", f"more than {MOST_JSON_VALUES} values"),
    "json-nesting": ('{"a":' + "[" * 400_000, "nested too deep"),
    "bytes": ("a: " + "b" * BOUNDS.size, f"more than {BOUNDS.size} bytes"),
}


def written(folder: Path, text: str, name: str = "api.yaml") -> Path:
    path = folder / name
    path.write_text(text, "utf-8")
    return path


def test_a_document_that_would_cost_much_is_refused_at_once(tmp_path: Path) -> None:
    files = [str(written(tmp_path, text, name)) for name, (text, _) in COSTLY.items()]
    command = [sys.executable, "-c", IN_LITTLE_MEMORY, str(256 * 1024 * 1024), *files]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    refused = dict(zip(COSTLY, done.stdout.splitlines(), strict=True))
    assert [name for name, (_, reason) in COSTLY.items() if reason not in refused[name]] == []


@with_each(
    ("text", "reason"),
    [
        ("a: &b {x: 1}\nc:\n  <<: *b", "api.yaml:3: aliases"),
        ("a:\n  <<: {x: 1}", "api.yaml:2: merge keys"),
        ("paths: {}\npaths: {}", "api.yaml:2: the key 'paths' is there already"),
        ("a: !!binary aGk=", "api.yaml:1: tags"),
        ("a: !x b", "api.yaml:1: tags"),
        ("{[a]: b}\n", "no JSON document"),
        ("? [a]\n: b", "api.yaml:1: a key must be a single value"),
        ("a: 2026-99-99", "api.yaml: month must be in"),
        ("a:\tb\n\tc: d", "api.yaml:2: "),
        ("", "the file is empty"),
        ('{"a": 1, "a": 2}', "a member is given twice"),
        ('{"a": "\\ud800"}', "no JSON document"),
        ('{"a": }', "line 1 column 7"),
        ("\x1b[2J: [", "control characters are not allowed"),
        ("a: \x85\u2028[", "api.yaml:"),
    ],
)
def test_what_can_not_be_read_in_one_way_is_refused_with_its_place(
    tmp_path: Path, text: str, reason: str
) -> None:
    with pytest.raises(OperatorError) as refusal:
        read_document(written(tmp_path, text))
    assert reason in str(refusal.value)
    assert str(refusal.value).isprintable()


def test_json_is_read_as_json_and_yaml_as_yaml(tmp_path: Path) -> None:
    text = '{\n\t"summary": "Say \\ud83d\\ude00 and \\/",\n\t"paths": {}\n}'
    assert read_document(written(tmp_path, text))[0] == json.loads(text)
    assert read_document(written(tmp_path, "openapi: 3.0.0\npaths: {/a: {200: x}}"))[0] == {
        "openapi": "3.0.0",
        "paths": {"/a": {200: "x"}},
    }


def test_what_others_have_written_moves_no_cursor_and_makes_no_line_of_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = "/a\n+ orders GET /forged  fine\x1b[2J\u202e\x9b"
    document = json.dumps({"openapi": "3.0.0", "paths": {path: {"get": {"summary": "\x1b]0;x\x07"}}}})
    operations = operations_of(read_document(written(tmp_path, document))[0], Service("orders"))
    plan = ImportPlan(operations, operations.imported, (), (), ())

    show(Namespace(json=False), import_report(plan, None), lambda: as_lines(plan, None))
    lines = capsys.readouterr().out.splitlines()
    assert all(line.isprintable() for line in lines)
    assert [line[:2] for line in lines] == ["! ", "0 "]

    show(Namespace(json=True), import_report(plan, None), lambda: as_lines(plan, None))
    output = capsys.readouterr().out
    assert all(line.isprintable() for line in output.split("\n"))
    assert json.loads(output)["unusable"][0]["operation"] == f"GET {path}"


def test_a_missing_file_and_a_folder_are_refused_in_words(tmp_path: Path) -> None:
    for path, reason in ((tmp_path / "no\x1bne", "No such file"), (tmp_path, "Is a directory")):
        with pytest.raises(YamlError, match=reason) as refusal:
            read_document(path)
        assert str(refusal.value).isprintable()
