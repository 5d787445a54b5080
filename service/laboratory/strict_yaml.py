"""Reads YAML files strictly, with the line of each value.

PyYAML silently keeps the last of two equal keys. A merge key (``<<``) adds keys to the written ones. An alias
can repeat a distant value, even a million times. Files about rights are reviewed by people and written by
others, so all three are refused. The size of the rest is limited before memory is allocated.
"""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

import msgspec
import yaml

from service.kernel.coded_sentences import Sentence
from service.kernel.operator_error import FaultsError
from service.kernel.type_faults import type_faults

T = TypeVar("T")
Keys = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits for reading a file: its bytes, its values and keys, and their depth of nesting.

    A value takes up to a kilobyte of memory: without a limit, a value of two bytes would take as much memory.
    """

    size: int = 4 * 1024 * 1024
    values: int = 300_000
    depth: int = 20


OWN: Final = Bounds()
"""The bounds of files that people write for this program."""

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_MERGE: Final = "tag:yaml.org,2002:merge"
_NUMBERS: Final = frozenset({"tag:yaml.org,2002:int", "tag:yaml.org,2002:float"})
_LONGEST_NUMBER: Final = 100  # characters; the time to read 1:1:1…, in base 60, is that of their square
_LONGEST_PLAIN: Final = 65_536  # characters without quotes; PyYAML tries on them whether they are a number


class YamlError(FaultsError):
    """A file can't be read; ``faults`` are sentences with file and line."""

    def __init__(self, *faults: str) -> None:
        super().__init__(faults)


@dataclass(frozen=True, slots=True)
class Document(Generic[T]):
    """Content of a file; ``lines`` has the line (from 1) of each value, by its keys and positions.

    ``digest`` is the SHA-256 of the bytes that were read, in hexadecimal.
    """

    path: Path
    value: T
    lines: Mapping[Keys, int]
    digest: str

    def place(self, *keys: str | int) -> str:
        """Return ``file:line`` of the value under ``keys``, or of the nearest value around it."""
        return f"{self.path}:{_line(self.lines, keys)}"


def read_yaml(path: Path, type_: type[T], bounds: Bounds = OWN) -> Document[T]:
    """Return the content of ``path`` as a ``type_``; raises YamlError with file and line.

    The file is read once, so it may be a pipe. Refused is what ``document_of`` refuses, and a file that can't
    be read or is longer than its bounds.
    """
    return document_of(path, read_within(path, bounds.size), type_, bounds)


def read_within(path: Path, most: int) -> bytes:
    """Return the bytes of a file; YamlError if it can't be read, or has more than ``most`` bytes."""
    try:
        with path.open("rb") as file:
            raw = file.read(most + 1)
    except OSError as error:
        raise YamlError(f"{path} can't be read: {error.strerror or error}") from error
    if len(raw) > most:
        raise YamlError(f"{path} has more than {most} bytes")
    return raw


def document_of(path: Path, raw: bytes, type_: type[T], bounds: Bounds = OWN) -> Document[T]:
    """Return ``raw``, the content of ``path``, as a ``type_``; raises YamlError with file and line.

    Refused are repeated keys, merge keys, aliases, tags, more values and deeper nesting than ``bounds``
    allow, and fields that ``type_`` does not know.
    """
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise YamlError(f"{path} can't be read: {error}") from error
    content, lines = _parsed(path, text, bounds)
    try:
        return Document(path, msgspec.convert(content, type_), lines, hashlib.sha256(raw).hexdigest())
    except msgspec.ValidationError as error:
        faults = type_faults(content, type_) or [((), Sentence(str(error)))]
        named = (f"{path}:{_line(lines, keys)}: {_named(keys)}{reason}" for keys, reason in faults)
        raise YamlError(*named) from error


def _parsed(path: Path, text: str, bounds: Bounds) -> tuple[Any, dict[Keys, int]]:
    loader = _Loader(text)
    lines: dict[Keys, int] = {}
    try:
        _check_events(path, text, bounds)
        node = loader.get_single_node()
        if node is None:
            raise YamlError(f"{path}: the file is empty")
        if faults := [f"{path}:{line}: {reason}" for line, reason in _faults(node, (), lines)]:
            raise YamlError(*faults)
        return loader.construct_document(node), lines
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{path}:{mark.line + 1}" if mark else str(path)
        reason = getattr(error, "problem", None) or " ".join(str(error).split())
        raise YamlError(f"{where}: {reason}") from error
    finally:
        loader.dispose()


def _check_events(path: Path, text: str, bounds: Bounds) -> None:
    """Raise YamlError for input that must not reach the loader, whose C code crashes on deep nesting."""
    values = depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        reason = None
        if isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        elif isinstance(event, yaml.AliasEvent):
            reason = "aliases are not read: write the value out"
        elif isinstance(event, yaml.NodeEvent):
            values += 1
            depth += isinstance(event, yaml.CollectionStartEvent)
            if getattr(event, "tag", None) is not None:
                reason = "tags are not read: write the value without"
            elif isinstance(event, yaml.ScalarEvent) and _is_endless(event):
                reason = f"a value of more than {_LONGEST_PLAIN} characters needs quotes"
            elif depth > bounds.depth:
                reason = f"deep nesting is not read: more than {bounds.depth} levels"
            elif values > bounds.values:
                reason = f"the file has more than {bounds.values} values"
        if reason:
            raise YamlError(f"{path}:{event.start_mark.line + 1 if event.start_mark else 1}: {reason}")


def _is_endless(event: yaml.ScalarEvent) -> bool:
    return event.implicit[0] and len(event.value) > _LONGEST_PLAIN


def _faults(node: yaml.Node, keys: Keys, lines: dict[Keys, int]) -> Iterator[tuple[int, str]]:
    """Yield the faults in ``node``; put the line of every value into ``lines``."""
    line = lines[keys] = node.start_mark.line + 1
    if isinstance(node, yaml.SequenceNode):
        for at, item in enumerate(node.value):
            yield from _faults(item, (*keys, at), lines)
    elif isinstance(node, yaml.MappingNode):
        yield from _faults_of_mapping(node, keys, lines)
    elif node.tag in _NUMBERS and len(node.value) > _LONGEST_NUMBER:
        yield line, f"a number of more than {_LONGEST_NUMBER} characters is not read"


def _faults_of_mapping(
    node: yaml.MappingNode, keys: Keys, lines: dict[Keys, int]
) -> Iterator[tuple[int, str]]:
    known: set[str] = set()
    for key, value in node.value:
        line = key.start_mark.line + 1
        if not isinstance(key, yaml.ScalarNode):
            yield line, "a key must be a single value"
            continue
        if key.tag == _MERGE:
            yield line, "merge keys are not read: write the values out"
        elif key.value in known:
            yield line, f"the key {key.value!r} is there already"
        known.add(key.value)
        yield from _faults(key, (*keys, key.value), lines)
        yield from _faults(value, (*keys, key.value), lines)


def _named(keys: Keys) -> str:
    """Return the last name of a place with a colon; nothing of a place in a list, or of the whole file."""
    return f"{keys[-1]}: " if keys and isinstance(keys[-1], str) else ""


def _line(lines: Mapping[Keys, int], keys: Keys) -> int:
    while keys and keys not in lines:
        keys = keys[:-1]
    return lines.get(keys, 1)
