"""Features: folders of ``service/features`` that serve one capability each, and register themselves.

The ``feature.py`` of a feature names its additions by text, ``module:name`` below its own folder. The text is
imported on use: a command imports no endpoints, and a feature that is off is not imported at all.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

_FOLDER: Final = "service.features"
_FIELD: Final = re.compile(r"\\\{\w+\\\}")  # of an escaped template
ALL: Final = "all"
"""Names every feature that has a switch."""

Rows = Callable[[Any], Any]
"""Takes a connection and yields, when awaited, how many rows need the feature, with a sentence about them."""


@dataclass(frozen=True, slots=True)
class FeaturePage:
    """A page of the catalogue of permissions: a Menu, which stands behind the Menu of the page ``after``.

    ``permissions`` are the code, the title of the Button, and the endpoints that it opens.
    """

    name: str
    title: str
    icon: str
    after: str
    permissions: tuple[tuple[str, str, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True)
class FeatureCommands:
    """Commands of one family, whose name is "" for those without one: ``portcullis NAME``.

    Each has its name, one line of help, and its module in the feature's folder. ``help`` is that of the
    family, if the core has no family of this name. ``apart``: they read no settings of the service. Help
    lists them behind the command of the family with the name ``after``, before all others for the name of the
    family itself, or at the end. A family of the feature itself stands behind the family ``after``.
    """

    family: str
    commands: tuple[tuple[str, str, str], ...]
    help: str = ""
    apart: bool = False
    after: str = ""


@dataclass(frozen=True, kw_only=True, eq=False)
class Feature:
    """Additions of one feature; ``name`` is its folder.

    ``off``: ``features.off`` may name it, since nothing fails open without it. ``needs`` are the features
    that it imports. ``paths`` are the prefixes of the paths that it alone serves; policy lines about them are
    left out while it is off. ``settings`` are those of this feature alone, such as ``export.destinations``;
    setting one is refused while the feature is off. ``tags`` describe the nouns of its operations. ``pages``
    go into the catalogue of permissions. ``by_people`` are acts that the layer ``account`` closes to API
    keys, each with the code of its refusal. ``account_objects`` are further objects of that layer.
    ``enumerations`` name types of the API's document, by their values with spaces between.

    The others are texts ``module:name``, empty without such a part. ``sentences`` are those of its refusals
    and faults (``service.kernel.coded_sentences``). ``tables`` is a module that declares
    tables. ``dialect`` is a ``Dialect``. ``routes`` is called with the routes and the container. ``parts`` is
    called with the container, and returns None or a ``Part`` that lives as long as the worker. ``jobs``
    returns its jobs for the settings. ``checks`` are those of ``doctor``. ``rows`` counts the rows that need
    the feature; a start with the feature off refuses while rows exist. ``provides`` maps ports to the
    providers that the core asks. ``listens`` maps events (``service.kernel.events``) to listeners.
    """

    name: str
    title: str
    off: bool = False
    needs: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    tags: Mapping[str, str] = field(default_factory=dict)
    pages: tuple[FeaturePage, ...] = ()
    by_people: Mapping[str, str] = field(default_factory=dict)
    account_objects: tuple[str, ...] = ()
    enumerations: Mapping[str, str] = field(default_factory=dict)
    commands: tuple[FeatureCommands, ...] = ()
    sentences: str = ""
    tables: str = ""
    dialect: str = ""
    parts: str = ""
    routes: str = ""
    jobs: str = ""
    checks: str = ""
    rows: str = ""
    provides: Mapping[str, str] = field(default_factory=dict)
    listens: Mapping[str, str] = field(default_factory=dict)

    def owns(self, path: str) -> bool:
        """Return True if this feature alone serves ``path``, such as ``/scim/v2/Users`` or a template."""
        return _below(self.paths).match(path) is not None

    def module(self, name: str) -> str:
        """Return the dotted name of a module of the feature's folder."""
        return f"{_FOLDER}.{self.name}.{name}"

    def part(self, text: str) -> Any:
        """Return the object named by ``text``, ``module`` or ``module:name`` of the feature's folder."""
        module, _, name = text.partition(":")
        imported = import_module(self.module(module))
        return getattr(imported, name) if name else imported


@cache
def _below(templates: tuple[str, ...]) -> re.Pattern[str]:
    """Return a pattern that matches ``templates``, and all paths below them."""
    texts = (_FIELD.sub("[^/]+", re.escape(template)) for template in templates)
    return re.compile(rf"(?:{'|'.join(texts)})(?:/.*)?$" if templates else "(?!)", re.DOTALL)


@cache
def declared() -> tuple[Feature, ...]:
    """Return all features, in the order of the registry, whether they are on or off."""
    names: tuple[str, ...] = import_module(_FOLDER).NAMES
    return tuple(import_module(f"{_FOLDER}.{name}.feature").FEATURE for name in names)


def folders(name: str) -> list[Path]:
    """Return the folders ``name`` that features have, such as ``migrations``; imports no feature."""
    return sorted(Path(import_module(_FOLDER).__path__[0]).glob(f"*/{name}"))


class Listed(Protocol):
    """Something that stands in a list by its name, such as a command, a job or a check."""

    @property
    def name(self) -> str:
        """Its name, which no other one in the list has."""


L = TypeVar("L", bound=Listed)


def insert_after(listed: list[L], added: L, after: str) -> None:
    """Put ``added`` behind the one of ``listed`` with the name ``after``, or at the end if there is none."""
    places = [place for place, before in enumerate(listed, 1) if before.name == after]
    listed.insert(places[0] if places else len(listed), added)


def named(name: str) -> Feature:
    """Return the feature with that name; KeyError if it does not exist."""
    return {feature.name: feature for feature in declared()}[name]


def switches() -> tuple[str, ...]:
    """Return the names of the features that have a switch."""
    return tuple(feature.name for feature in declared() if feature.off)


def off_by(names: Collection[str]) -> tuple[Feature, ...]:
    """Return the features that ``names``, the setting ``features.off``, switch off."""
    return tuple(feature for feature in declared() if feature.off and (feature.name in names or ALL in names))


def on_by(names: Collection[str]) -> tuple[Feature, ...]:
    """Return the features that are left where ``names`` are off."""
    gone = off_by(names)
    return tuple(feature for feature in declared() if feature not in gone)


def switch_faults(names: Iterable[str]) -> Iterator[str]:
    """Yield half a sentence for each of ``names`` that can't be off, and for each that another one needs."""
    known = switches()
    names = tuple(names)
    for name in names:
        if name not in known and name != ALL:
            yield f"{name!r} is no feature that can be off: these are {', '.join((*known, ALL))}"
    gone = {feature.name for feature in off_by(names)}
    for feature in on_by(names):
        for needed in feature.needs:
            if needed in gone:
                yield f"{needed!r} can't be off while {feature.name!r}, which needs it, is on"


def about_any(features: Iterable[Feature], text: str) -> bool:
    """Return True if ``text``, such as ``endpoint GET /scim/v2/Users``, ends in a path of ``features``."""
    path = text[text.find("/") :] if "/" in text else ""
    return bool(path) and any(feature.owns(path) for feature in features)


def provided(port: str, off: Collection[str] = ()) -> dict[str, Any]:
    """Return the providers of ``port``, by the name of the feature, without the features in ``off``.

    Leave ``off`` out for questions about stored data: those of a feature that is off still exist.
    """
    return {
        feature.name: feature.part(feature.provides[port])
        for feature in on_by(off)
        if port in feature.provides
    }


@cache
def sole(port: str) -> Any:
    """Return the provider of a ``port`` that exactly one feature provides; ValueError for none or several."""
    (provider,) = provided(port).values()
    return provider
