"""Reads YAML files strictly, with the line of each value.

PyYAML keeps the last of two equal keys without a word, a merge key (``<<``) adds keys beside those that are
written, and an alias can repeat a value far from where it is written. Files about rights are reviewed by
people, so all three are refused here.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

import msgspec
import yaml

from service.kernel.operator_error import OperatorError

T = TypeVar("T")
Keys = tuple[str | int, ...]

MOST_BYTES: Final = 4 * 1024 * 1024
"""The longest file, in bytes."""

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_DEEPEST: Final = 20
_DEEP: Final = "aliases and deep nesting are not read: write the value out"
_MERGE: Final = "tag:yaml.org,2002:merge"
_STEP: Final = re.compile(r"\.(\w+)|\[(\d+)\]")


class YamlError(OperatorError):
    """A file can't be read; ``faults`` are sentences with file and line."""

    def __init__(self, *faults: str) -> None:
        super().__init__("\n".join(faults))
        self.faults = faults


@dataclass(frozen=True, slots=True)
class Document(Generic[T]):
    """What a file holds; ``lines`` has the line (from 1) of each value, by its keys and positions.

    ``digest`` is the SHA-256 of the bytes that were read, in hexadecimal.
    """

    path: Path
    value: T
    lines: Mapping[Keys, int]
    digest: str

    def place(self, *keys: str | int) -> str:
        """Return ``file:line`` of the value under ``keys``, or of the nearest value around it."""
        return f"{self.path}:{_line(self.lines, keys)}"


def read_yaml(path: Path, type_: type[T]) -> Document[T]:
    """Return the content of ``path`` as a ``type_``; raises YamlError with file and line.

    Refused are repeated keys, merge keys, aliases, deep nesting, fields that ``type_`` does not know, and
    files of more than ``MOST_BYTES``. The file is read once, so it may be a pipe.
    """
    try:
        with path.open("rb") as file:
            raw = file.read(MOST_BYTES + 1)
        if len(raw) > MOST_BYTES:
            raise YamlError(f"{path} has more than {MOST_BYTES} bytes")
        text = raw.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise YamlError(f"{path} can't be read: {getattr(error, 'strerror', None) or error}") from error
    content, lines = _parsed(path, text)
    try:
        return Document(path, msgspec.convert(content, type_), lines, hashlib.sha256(raw).hexdigest())
    except msgspec.ValidationError as error:
        reason, _, where = str(error).partition(" - at `$")
        keys = tuple(name or int(number) for name, number in _STEP.findall(where))
        raise YamlError(f"{path}:{_line(lines, keys)}: {reason}") from error


def _parsed(path: Path, text: str) -> tuple[Any, dict[Keys, int]]:
    loader = _Loader(text)
    lines: dict[Keys, int] = {}
    try:
        _check_depth(path, text)
        node = loader.get_single_node()
        if node is None:
            raise YamlError(f"{path}: the file is empty")
        if faults := [f"{path}:{line}: {reason}" for line, reason in _faults(node, (), lines, set())]:
            raise YamlError(*faults)
        return loader.construct_document(node), lines
    except (yaml.YAMLError, ValueError, KeyError) as error:  # KeyError: ``!!bool`` before another word
        mark = getattr(error, "problem_mark", None)
        where = f"{path}:{mark.line + 1}" if mark else str(path)
        raise YamlError(f"{where}: {getattr(error, 'problem', None) or error}") from error
    finally:
        loader.dispose()


def _check_depth(path: Path, text: str) -> None:
    """Raise YamlError for deep nesting, before the loader descends into it: its C code crashes then."""
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > _DEEPEST:
                line = event.start_mark.line + 1 if event.start_mark else 1
                raise YamlError(f"{path}:{line}: {_DEEP}")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _faults(node: yaml.Node, keys: Keys, lines: dict[Keys, int], seen: set[int]) -> Iterator[tuple[int, str]]:
    """Yield what is refused in ``node``; put the line of every value into ``lines``."""
    line = lines[keys] = node.start_mark.line + 1
    if id(node) in seen:
        yield line, _DEEP
        return
    seen.add(id(node))
    if isinstance(node, yaml.SequenceNode):
        for at, item in enumerate(node.value):
            yield from _faults(item, (*keys, at), lines, seen)
    elif isinstance(node, yaml.MappingNode):
        known: set[str] = set()
        for key, value in node.value:
            name = str(key.value)
            if key.tag == _MERGE:
                yield key.start_mark.line + 1, "merge keys are not read: write the values out"
            elif name in known:
                yield key.start_mark.line + 1, f"the key {name!r} is there already"
            known.add(name)
            yield from _faults(value, (*keys, name), lines, seen)


def _line(lines: Mapping[Keys, int], keys: Keys) -> int:
    while keys and keys not in lines:
        keys = keys[:-1]
    return lines.get(keys, 1)
