"""Files about rights are refused where they could say something else than people read in them."""

import hashlib
import os
from pathlib import Path
from typing import Any

import pytest

from service.laboratory.strict_yaml import OWN, YamlError, read_yaml
from tests.support.cases import with_each


def written(folder: Path, text: str) -> Path:
    path = folder / "file.yaml"
    path.write_text(text, "utf-8")
    return path


@with_each(
    ("text", "line", "reason"),
    [
        ("a:\n  <<: {x: 1}\n  x: 2", 2, "merge keys"),
        ("a: &b [1]\nc: *b", 2, "aliases"),
        ("a:\n  " + "[" * 100_000, 2, "deep nesting"),
        ("- " * 50_000 + "x", 1, "deep nesting"),
        ("\n".join(" " * depth + "a:" for depth in range(100)), 21, "deep nesting"),
        ("a: 1\n'a': 2", 2, "there already"),
    ],
)
def test_what_people_could_misread_is_refused_with_its_line(
    tmp_path: Path, text: str, line: int, reason: str
) -> None:
    path = written(tmp_path, text)
    with pytest.raises(YamlError, match=reason) as refused:
        read_yaml(path, Any)
    assert str(refused.value).startswith(f"{path}:{line}: ")


@with_each("text", ["a: !!bool maybe", "a: 2026-13-45", "a: !!python/object:os.x {}", "a: \0"])
def test_a_value_that_is_none_of_its_type_is_a_fault_of_the_file(tmp_path: Path, text: str) -> None:
    with pytest.raises(YamlError):
        read_yaml(written(tmp_path, text), Any)


def test_a_quoted_key_may_look_like_a_merge_key(tmp_path: Path) -> None:
    assert read_yaml(written(tmp_path, "'<<': 1"), dict[str, int]).value == {"<<": 1}


def test_an_endless_file_is_refused() -> None:
    with pytest.raises(YamlError, match=f"more than {OWN.size} bytes"):
        read_yaml(Path("/dev/zero"), Any)


def test_the_digest_is_of_what_was_read_also_from_a_pipe() -> None:
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb"):
        with os.fdopen(writing, "wb") as file:
            file.write(b"a: 1\n")
        document = read_yaml(Path(f"/dev/fd/{reading}"), dict[str, int])
    assert document.value == {"a": 1}
    assert document.digest == hashlib.sha256(b"a: 1\n").hexdigest()
