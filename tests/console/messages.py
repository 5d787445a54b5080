"""The ICU messages of the texts of the console: what they are filled with."""

import re

_ARGUMENT = re.compile(r"\s*(\w+)\s*(?:,\s*(number|plural|select)\s*)?")
_OPTION = re.compile(r"\s*(=?\w+)\s*\{")


class Message:
    """An ICU message: its arguments by name, with kind and keys."""

    def __init__(self, text: str) -> None:
        """Read it. Raises ValueError."""
        self.text, self.at = text, 0
        self.arguments: set[tuple[str, str]] = set()
        self.keys: dict[tuple[str, str], set[str]] = {}
        self._sequence()
        if self.at < len(text):
            raise ValueError(f"at {self.at}")

    def _token(self, pattern: re.Pattern[str]) -> re.Match[str]:
        match = pattern.match(self.text, self.at)
        if match is None:
            raise ValueError(f"at {self.at}")
        self.at = match.end()
        return match

    def _sequence(self) -> None:
        while self.at < len(self.text) and self.text[self.at] != "}":
            self.at += 1
            if self.text[self.at - 1] == "'" and self.text[self.at : self.at + 1] in {"{", "}", "#"}:
                self._token(re.compile(r"[^']*'?"))
            elif self.text[self.at - 1] == "{":
                self._argument()

    def _argument(self) -> None:
        name, kind = self._token(_ARGUMENT).groups(default="")
        self.arguments.add((name, kind))
        if kind in {"plural", "select"}:
            self._token(re.compile(","))
            keys = self.keys.setdefault((name, kind), set())
            while not re.match(r"\s*\}", self.text[self.at :]):
                keys.add(self._token(_OPTION)[1])
                self._sequence()
                self._token(re.compile(r"\}"))
        self._token(re.compile(r"\s*\}"))


def message(text: str) -> Message | None:
    """Return a text as a message; None for one whose braces are no message: it is shown as it is."""
    try:
        return Message(text)
    except ValueError:
        return None
