"""Sentences for clients: each has a stable code, named parameters and one English template.

Refusals, faults and findings of ``doctor`` have them.

The core declares its sentences in ``service.kernel.core_sentences``. A feature declares its own ones in
``sentences.py`` of its folder, and names them in ``feature.py`` (``sentences="sentences:sentence"``):

sentence = feature_sentences({"too_many_keys": "The account has {most} API keys: delete some of them first"})

They are raised by code, with a value for each parameter of the template:

raise ValidationFailed(("title", sentence("too_long", most=64)))
raise Conflict(sentence("too_many_keys", most=10), rule="limit")

A feature may use the codes of the core too: look there first. Clients translate by code, so a code keeps its
meaning and its parameters forever. Templates are ICU messages, of which ``{name}``, ``plural`` and ``select``
are supported. Parameters are shown to clients: they hold no secret.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self, TypeAlias

OTHER: Final = "other"
"""The code of a text without a code, such as that of an extension."""


class Sentence(str):
    """An English sentence, or half of one ("must …"), with the code and the parameters that it was made from.

    ``params`` are plain JSON. A sentence in them, alone or in a list, has the members of ``as_member``.
    """

    __slots__ = ("code", "params")
    code: str
    params: Mapping[str, Any]

    def __new__(cls, text: str, code: str = OTHER, params: Mapping[str, Any] | None = None) -> Self:
        """Return the sentence; one without a code has its text as the parameter ``sentence``."""
        made = super().__new__(cls, text)
        made.code = code
        made.params = {"sentence": text} if params is None else params
        return made

    @classmethod
    def of(cls, text: str) -> "Sentence":
        """Return ``text`` as a sentence, unchanged if it is one."""
        return text if isinstance(text, Sentence) else Sentence(text)

    def __reduce__(self) -> tuple[Any, ...]:
        """Keep code and parameters in copies."""
        return Sentence, (str(self), self.code, self.params)

    def as_member(self) -> dict[str, Any]:
        """Return ``code``, ``params`` and ``message``, as answers of the API have them."""
        return {"code": self.code, "params": self.params, "message": str(self)}


@dataclass(frozen=True, slots=True)
class _Argument:
    """A parameter in a template; of the kinds ``plural`` and ``select`` it has a message for each option."""

    name: str
    kind: str = ""
    options: Mapping[str, "_Message"] | None = None


_Message: TypeAlias = Sequence["str | _Argument"]
_HASH: Final = _Argument("#")  # the number of the plural around it


class Sentences:
    """The sentences of one place, by code; called with a code and parameters, it returns the sentence.

    ``texts`` are the templates by code. ``base`` has further sentences that may be called.
    """

    def __init__(self, texts: Mapping[str, str], base: "Sentences | None" = None) -> None:
        self.texts: Final = texts
        self._base = base
        self._parsed: dict[str, _Message] = {}
        self._made: dict[str, Sentence] = {}

    def __call__(self, code: str, /, **params: Any) -> Sentence:
        """Return the sentence ``code``; KeyError for an unknown code, or without a parameter of it."""
        if not params and (made := self._made.get(code)) is not None:
            return made
        if code not in self.texts and self._base is not None:
            return self._base(code, **params)
        if (message := self._parsed.get(code)) is None:
            message = self._parsed[code] = parsed(self.texts[code])
        plain = {name: _plain(value) for name, value in params.items()}
        made = Sentence(_filled(message, params), code, plain)
        if not params:
            self._made[code] = made
        return made


def first_of(texts: Sequence[str], most: int) -> dict[str, Any]:
    """Return the first texts, and the number of the others, as the parameters ``codes`` and ``more``."""
    return {"codes": texts[:most], "more": max(0, len(texts) - most)}


def parameters_of(template: str) -> list[str]:
    """Return the names of the parameters of a template, sorted."""
    return sorted(_names(parsed(template)))


def _names(message: _Message) -> set[str]:
    names: set[str] = set()
    for part in message:
        if isinstance(part, _Argument) and part is not _HASH:
            names.add(part.name)
            names.update(*(_names(option) for option in (part.options or {}).values()))
    return names


_ARGUMENT: Final = re.compile(r"\{(\w+)(?:, (plural|select),|(?=\}))")
_OPTION: Final = re.compile(r" ?(=?\w+) ?\{")
_TEXT: Final = re.compile(r"[^{}#]+")


def parsed(template: str) -> _Message:
    """Return ``template`` in parts; ValueError for one that is malformed."""
    message, end = _message(template, 0, within=False)
    if end != len(template):
        raise ValueError(f"malformed template: {template}")
    return message


def _message(template: str, at: int, *, within: bool) -> tuple[_Message, int]:
    """Return the message at ``at`` and its end; ``within`` an option, ``#`` is a number."""
    parts: list[str | _Argument] = []
    while at < len(template) and template[at] != "}":
        if template[at] == "#":
            parts.append(_HASH if within else "#")
            at += 1
        elif text := _TEXT.match(template, at):
            parts.append(text[0])
            at = text.end()
        else:
            argument, at = _argument(template, at)
            parts.append(argument)
    return parts, at


def _argument(template: str, at: int) -> tuple[_Argument, int]:
    if (begun := _ARGUMENT.match(template, at)) is None:
        raise ValueError(f"malformed template: {template}")
    at = begun.end()
    options: dict[str, _Message] = {}
    while option := _OPTION.match(template, at):
        options[option[1]], at = _message(template, option.end(), within=True)
        at += 1
    if template[at : at + 1] != "}" or (begun[2] is not None) != ("other" in options):
        raise ValueError(f"malformed template: {template}")
    return _Argument(begun[1], begun[2] or "", options), at + 1


def _filled(message: _Message, params: Mapping[str, Any], number: Any = "") -> str:
    return "".join([part if isinstance(part, str) else _value(part, params, number) for part in message])


def _value(argument: _Argument, params: Mapping[str, Any], number: Any) -> str:
    if argument is _HASH:
        return str(number)
    value = params[argument.name]
    if argument.options:
        keys = (f"={value}", "one" if value == 1 else "other") if argument.kind == "plural" else (str(value),)
        option = next((key for key in keys if key in argument.options), "other")
        return _filled(argument.options[option], params, value)
    return ", ".join(map(str, value)) if isinstance(value, _LISTS) else str(value)


_EXACT: Final = 2**53 - 1
"""The largest number that every JSON reader keeps exactly (RFC 8259 §6); larger ones are texts."""
_LISTS: Final = (list, tuple, set, frozenset)


def _plain(value: Any) -> Any:
    """Return ``value`` as plain JSON."""
    if isinstance(value, Sentence):
        return value.as_member()
    if isinstance(value, float) or (isinstance(value, int) and abs(value) <= _EXACT):
        return value
    if isinstance(value, _LISTS):
        return [item.as_member() if isinstance(item, Sentence) else str(item) for item in value]
    return str(value)
