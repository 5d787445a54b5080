"""Strict checks of ``model.conf``: refuses, with its line, what Casbin accepts silently.

Casbin ignores unknown sections, lets a second ``m =`` replace the first, and takes a comment after a value as
part of the value. It cuts a matcher off at a comment between its lines, and notices unknown functions and
non-boolean results only when it decides. A model that passes here has exactly one reading.
"""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from casbin.model import Model
from casbin.util import escape_assertion

from service.authz.engine.rules import PolicyFileError
from service.laboratory.lint.matcher import Piece, grammar_faults, matcher_faults

MatcherFaults = Callable[[Sequence[Piece]], list[Piece]]
"""Returns the faults of a matcher."""

SECTIONS: Final = {
    "request_definition": "r",
    "policy_definition": "p",
    "policy_effect": "e",
    "matchers": "m",
}
"""The sections of a model, all required, and the only key of each."""

MOST_BYTES: Final = 65_536
"""The longest model, in bytes of UTF-8: more than twenty times the shipped one."""

_FIXED: Final = {
    "r": "layer, object, caller",
    "p": "layer, object, code",
    "e": "some(where (p.eft == allow))",
}


class Entry(NamedTuple):
    """A ``key = value`` of the model, with the lines (counted from 1) of its value."""

    section: str
    key: str
    pieces: tuple[Piece, ...]

    @property
    def line(self) -> int:
        return self.pieces[0][0]

    @property
    def value(self) -> str:
        """The value as one text, as Casbin joins it."""
        return "".join(piece for _, piece in self.pieces).strip()


def lint_model(text: str, name: str = "model.conf") -> None:
    """Check that ``text`` is a model that is safe to use; raises PolicyError with every fault.

    ``name`` is the file name for the messages, which read ``model.conf:12: reason``.
    """
    _lint(text, name, matcher_faults)


def require_grammar(text: str, name: str = "model.conf") -> None:
    """Check ``text`` in the same way, except for the rows that its matcher must and must never allow.

    For models that serve no requests, such as one that lacks a row of the matcher. Raises PolicyError.
    """
    _lint(text, name, grammar_faults)


def _lint(text: str, name: str, of_matcher: MatcherFaults) -> None:
    if len(text.encode()) > MOST_BYTES:
        raise PolicyFileError(
            f"{name}: the model has more than {MOST_BYTES} bytes, which is too long for a review"
        )
    reading = _Reading(text)
    faults = reading.faults + _missing(reading)
    for entry in reading.entries:
        faults += _entry_faults(entry, reading.entries, of_matcher)
    faults = faults or _casbin_differs(text, reading.entries)
    if faults:
        raise PolicyFileError(*(f"{name}:{line}: {reason}" for line, reason in sorted(faults)))


def parsed_model(text: str) -> str:
    """Return the content of a linted model without comments and layout: ``key = value``, one per line.

    Models that differ only in comments and layout decide alike, and give the same text.
    """
    entries = {entry.key: " ".join(entry.value.split()) for entry in _Reading(text).entries}
    return "".join(f"{key} = {entries[key]}\n" for key in SECTIONS.values())


class _Reading:
    """The sections and entries of a text, split like Casbin does, and what Casbin would misread."""

    def __init__(self, text: str) -> None:
        self.faults: list[Piece] = []
        self.sections: dict[str, int] = {}
        self.entries: list[Entry] = []
        self.last_line = text.count("\n") + 1
        self._section = ""
        self._pieces: list[Piece] = []
        for number, raw in enumerate(text.split("\n"), start=1):
            self._read(number, raw.strip(" \t"))
        self._interrupt(self.last_line, "the end of the file")

    def _read(self, number: int, line: str) -> None:
        if line.startswith("#"):
            self._interrupt(number, "a comment")
        elif not line:
            self._interrupt(number, "an empty line")
        elif not (line.isascii() and line.replace("\t", " ").isprintable()):
            self._say(number, "outside comments, only visible ASCII characters are allowed")
        elif line[0] == "[" and not self._pieces:
            self._start_section(number, line)
        else:
            self._take(number, line)

    def _say(self, number: int, reason: str) -> None:
        self.faults.append((number, reason))

    def _interrupt(self, number: int, what: str) -> None:
        if self._pieces:
            self._say(number, f"{what} follows a backslash, so the continued value is cut off")
            self._pieces = []

    def _start_section(self, number: int, line: str) -> None:
        self._section = name = line[1:-1] if line[-1] == "]" else ""
        if name not in SECTIONS:
            known = ", ".join(f"[{section}]" for section in SECTIONS)
            self._say(number, f"{line} is not a section of this model; the sections are {known}")
        elif name in self.sections:
            self._say(number, f"[{name}] appears twice, first in line {self.sections[name]}")
        self.sections.setdefault(name, number)

    def _take(self, number: int, line: str) -> None:
        if "#" in line or ";" in line:
            self._say(number, "a comment after a value becomes part of the value: put it on a separate line")
        if "\\" in line[:-1]:
            self._say(number, "a backslash at the end of a line continues the value on the next line")
        if line.endswith("\\"):
            self._pieces.append((number, line[:-1].strip() + " "))
            return
        (start, head), *rest = [*self._pieces, (number, line)]
        self._pieces = []
        key, equals, value = head.partition("=")
        if equals and key.strip():
            self.entries.append(Entry(self._section, key.strip(), ((start, value.lstrip()), *rest)))
        else:
            self._say(start, f"{head.strip()[:40]!r} is neither a section nor 'key = value' nor a comment")


def _missing(reading: _Reading) -> list[Piece]:
    there = {(entry.section, entry.key) for entry in reading.entries}
    faults = []
    for section, key in SECTIONS.items():
        if section not in reading.sections:
            faults.append((reading.last_line, f"the section [{section}] is missing"))
        elif (section, key) not in there:
            faults.append((reading.sections[section], f"[{section}] has no '{key} = …'"))
    return faults


def _entry_faults(entry: Entry, entries: list[Entry], of_matcher: MatcherFaults) -> list[Piece]:
    key = SECTIONS.get(entry.section)
    if key is None:
        # An unknown section is reported already, but not an entry before the first section.
        return [] if entry.section else [(entry.line, f"'{entry.key} = …' is outside any section")]
    if entry.key != key:
        return [(entry.line, f"[{entry.section}] allows only the key '{key}', not '{entry.key}'")]
    faults = []
    if any(other[:2] == entry[:2] and other.line < entry.line for other in entries):
        faults.append((entry.line, f"a second '{key} = …' would replace the first"))
    if key == "m":
        faults += of_matcher(entry.pieces)
    elif _spaced(entry) != _FIXED[key]:
        faults.append((entry.line, f"the '{key}' of this model must be '{_FIXED[key]}', not '{entry.value}'"))
    return faults


def _spaced(entry: Entry) -> str:
    if entry.key == "e":
        return entry.value  # Casbin compares the effect character by character
    return ", ".join(part.strip() for part in entry.value.split(","))


def _casbin_differs(text: str, entries: list[Entry]) -> list[Piece]:
    """Compare with Casbin's own parser, so that the checked model is the one used."""
    model = Model()
    model.load_model_from_text(text)
    faults = []
    for entry in entries:
        kept = entry.value if entry.key in ("r", "p") else escape_assertion(entry.value)
        section = model[entry.key]
        if list(section) != [entry.key] or section[entry.key].value != kept:
            faults.append((entry.line, f"Casbin reads '{entry.key}' differently from the written text"))
    return faults
