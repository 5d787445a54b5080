"""A person to erase: names and other values, and the texts in which they occur."""

import json
import re
from collections.abc import Iterable
from functools import cached_property
from typing import Any, Final

from msgspec import Struct

from service.administration.change_log import user_target

MOST: Final = 500
"""The maximum number of searched values; of more, the longest are searched."""
NOTHING: Final = "(?=a)b"
"""A regular expression without a match, here and in PostgreSQL."""
_LETTERS: Final = "0-9A-Za-z_\u00c0-\u052f"  # of scripts with spaces between words
_BEFORE: Final = f"(?<![{_LETTERS}-])(?<![{_LETTERS}][.])"
_AFTER: Final = f"(?![{_LETTERS}@-])(?![.][{_LETTERS}])"
_LETTER: Final = re.compile(f"[{_LETTERS}]")
_WORDS: Final = frozenset(
    {"true", "false", "null", "none", "admin", "allow", "deny", "success", "failure", "enabled", "disabled"}
    | {"person", "service", "direct", "request", "directory", "user", "users", "role", "roles", "keep"}
    | {"revoke", "shorten", "open", "closed", "read", "write", "create", "update", "delete", "insert"}
)
"""Words of the logs, which are searched for nobody."""
_FEW: Final = 6  # digits of a number that could mean anything


def is_searchable(value: str, words: Iterable[str] = ()) -> bool:
    """Return true if a text with ``value`` is likely to mean the person; ``words`` mean something else."""
    known = value.casefold()
    least = 3 if value.isascii() else 2
    few = value.isdecimal() and len(value) < _FEW
    return len(value) >= least and not few and known not in _WORDS and known not in words


class Person(Struct, frozen=True, dict=True):
    """A person by number: ``names`` are user names, ``searched`` all values that texts are searched for.

    ``shared`` are values that also mean somebody or something else: only rows of the number are erased.
    """

    user_id: int
    names: tuple[str, ...]
    searched: tuple[str, ...]
    shared: tuple[str, ...] = ()

    def joined(self, other: "Person") -> "Person":
        """Return the person with the values of both; those that are ``shared`` for one are not searched."""
        shared = {*self.shared, *other.shared}
        names = {*self.names, *other.names} - shared
        searched = {*self.searched, *other.searched} - shared
        return Person(self.user_id, tuple(sorted(names)), tuple(sorted(searched)), tuple(sorted(shared)))

    @property
    def mark(self) -> str:
        """The text in place of the person's values."""
        return f"#{self.user_id}"

    @cached_property
    def targets(self) -> tuple[str, ...]:
        """The user names as targets of the operation log."""
        return tuple(map(user_target, self.names))

    @cached_property
    def pattern(self) -> str:
        """The regular expression of the values as whole words, for Python and PostgreSQL."""
        return "|".join(map(_bounded, _forms(self.searched))) or NOTHING

    @cached_property
    def loose(self) -> str:
        """A regular expression that matches each text, or JSON as text, in which ``pattern`` matches."""
        forms = _forms(self.searched)
        written = {json.dumps(form, ensure_ascii=False)[1:-1] for form in forms}
        return "|".join(map(re.escape, sorted({*forms, *written}))) or NOTHING

    @cached_property
    def _regex(self) -> re.Pattern[str]:
        return re.compile(self.pattern, re.IGNORECASE)

    def without(self, value: Any) -> Any:
        """Return plain JSON with the mark in place of the person's values, in names of members too."""
        if isinstance(value, str):
            return user_target(self.mark) if value in self.targets else self._regex.sub(self.mark, value)
        if isinstance(value, list):
            return [*map(self.without, value)]
        if isinstance(value, dict):
            return {self.without(name): self.without(item) for name, item in value.items()}
        return value

    def is_in(self, text: str) -> bool:
        """Return true if a text, or JSON as text, has a value of the person."""
        try:
            value = json.loads(text)
        except ValueError:
            value = text
        return bool(self.without(value) != value)


def _forms(values: Iterable[str]) -> list[str]:
    """Return values in the cases that a database without Unicode would not find; the longest first."""
    forms = {
        form
        for value in values
        for form in ((value,) if value.isascii() else (value, value.lower(), value.upper(), value.casefold()))
    }
    return sorted(forms, key=lambda form: (-len(form), form))


def _bounded(value: str) -> str:
    begin = _BEFORE if _LETTER.match(value[0]) else ""
    end = _AFTER if _LETTER.match(value[-1]) else ""
    return f"{begin}{re.escape(value)}{end}"
