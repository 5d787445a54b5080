"""All lines of a policy, grouped by layer and object."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, KeysView, Mapping
from typing import TypeAlias

from service.authz.engine.rules import (
    ASSURANCE,
    LAYERS,
    PolicyError,
    Rule,
    code_fault,
    has_codes_of_its_own,
    is_valid_everywhere,
    object_fault,
)
from service.kernel.coded_sentences import Sentence
from service.kernel.cooperative_yield import cooperatively, in_parts
from service.kernel.core_sentences import sentence
from service.kernel.services import PORTCULLIS, split_object

Objects: TypeAlias = Mapping[str, Mapping[str, tuple[str, ...]]]
"""The codes of lines, by layer and object."""

Changes: TypeAlias = Mapping[tuple[str, str], tuple[str, ...]]
"""The new codes of changed objects, by layer and object; none for an object without a line."""


class Lines:
    """An immutable, ordered set of lines.

    Iterates over the lines by layer, in the order of ``LAYERS``. Objects are in the order of their first
    line, the lines of one object in the given order. To save memory, a hundred thousand lines are kept as
    texts that share their codes: a Rule is made on demand.

    Stored lines may be of layers that a later version has added. They are kept behind the others, so that the
    lines have the digest that was published, and ``joined`` leaves them out: nothing is decided by them.
    """

    __slots__ = ("_codes",)

    def __init__(self, rules: Iterable[Rule] = ()) -> None:
        self._codes: dict[str, dict[str, tuple[str, ...]]] = {layer: {} for layer in LAYERS}
        shared: dict[tuple[str, ...], tuple[str, ...]] = {}
        for layer, name, code in rules:
            objects = self._codes[layer]
            codes = objects.get(name, ())
            if code not in codes:
                longer = (*codes, code)
                objects[name] = shared.setdefault(longer, longer)

    @classmethod
    def trusted(cls, objects: Objects) -> Lines:
        """Return lines that were checked when they were made, in this order; nothing is checked again."""
        made = cls()
        shared: dict[tuple[str, ...], tuple[str, ...]] = {}
        for layer, names in objects.items():
            made._codes[layer] = {
                name: shared.setdefault(codes, codes) for name, codes in cooperatively(names.items())
            }
        return made

    def joined(self, *others: Lines) -> Lines:
        """Return these lines and those of ``others``, in this order within each layer that is known here."""
        whole = Lines()
        for part in (self, *others):
            for layer in LAYERS:
                objects = part._codes[layer]  # noqa: SLF001 - of this class
                into = whole._codes[layer]
                both = {
                    name: (*into[name], *(code for code in objects[name] if code not in into[name]))
                    for name in into.keys() & objects.keys()
                }
                into.update(objects)
                into.update(both)
        return whole

    def changed(self, changes: Changes) -> Lines:
        """Return these lines with the new codes of ``changes``.

        The objects of a layer that gets new ones are put in the order of their services, paths and methods.
        Raises PolicyError with all that can't be an object or a code.
        """
        _require_valid(changes)
        made = Lines()
        made._codes = {layer: objects.copy() for layer, objects in self._codes.items()}
        later = sorted({layer for layer, _ in changes}.difference(made._codes))
        made._codes |= {layer: {} for layer in later}
        grown = set()
        for (layer, name), codes in changes.items():
            if codes:
                made._codes[layer][name] = codes
            else:
                made._codes[layer].pop(name, None)
            if codes and name not in self._codes.get(layer, {}):
                grown.add(layer)
        for layer in grown:
            objects = made._codes[layer]
            made._codes[layer] = {name: objects[name] for name in cooperatively(sorted(objects, key=_place))}
        return made

    def edited(self, added: Iterable[tuple[str, str, str]], removed: Iterable[tuple[str, str, str]]) -> Lines:
        """Return these lines without ``removed`` and with ``added``, which are of layer, object and code.

        The codes of each of their objects are sorted. PolicyError as for ``changed``.
        """
        codes: dict[tuple[str, str], set[str]] = {}
        for lines, change in ((removed, set.discard), (added, set.add)):
            for layer, name, code in lines:
                place = (layer, name)
                if place not in codes:
                    codes[place] = set(self.codes(layer, name))
                change(codes[place], code)
        return self.changed({place: tuple(sorted(kept)) for place, kept in codes.items()})

    def codes(self, layer: str, name: str) -> tuple[str, ...]:
        """Return the codes of the lines of object ``name`` in ``layer``, in order; empty without a line."""
        return self._codes.get(layer, {}).get(name, ())

    def of(self, layer: str, name: str) -> tuple[Rule, ...]:
        """Return the lines of object ``name`` in ``layer``, in order."""
        return tuple(Rule(layer, name, code) for code in self.codes(layer, name))

    def objects(self, layer: str) -> KeysView[str]:
        """Return the objects that have lines in ``layer``."""
        return self._codes[layer].keys()

    @property
    def by_object(self) -> Objects:
        """The codes of all lines, by layer and object."""
        return self._codes

    def __iter__(self) -> Iterator[Rule]:
        for layer, objects in self._codes.items():
            for name, codes in objects.items():
                for code in codes:
                    yield Rule(layer, name, code)

    def __len__(self) -> int:
        return sum(len(codes) for objects in self._codes.values() for codes in objects.values())

    def __repr__(self) -> str:
        return f"<{len(self)} lines>"


def changes(before: Objects, after: Objects) -> Changes:
    """Return what makes the lines ``after`` from the lines ``before``."""
    changed: dict[tuple[str, str], tuple[str, ...]] = {}
    for layer in {**before, **after}:
        old, new = before.get(layer, {}), after.get(layer, {})
        for part in in_parts(new.items()):
            changed.update([((layer, name), codes) for name, codes in part if old.get(name) != codes])
        changed.update([((layer, name), ()) for name in old.keys() - new.keys()])
    return changed


def _require_valid(changes: Changes) -> None:
    """Raise PolicyError with all faults of objects and codes; most codes are checked once only."""
    faults: list[Sentence] = []
    good: set[str] = set()
    for (layer, name), codes in cooperatively(changes.items()):
        if not codes or layer not in LAYERS:  # a layer of a later version, which nothing here decides by
            continue
        # A demand is on an object that is mostly new too: report its fault once.
        of_other = layer == ASSURANCE and tuple(name.split(" ", 1)) in changes
        fault = None if of_other else object_fault(layer, name)
        if len(codes) > 1 and len({*codes}) < len(codes):
            fault = fault or sentence("line_twice")
        checked_before = good.issuperset(codes) and not has_codes_of_its_own(layer)
        for code in () if fault or checked_before else codes:
            fault = fault or code_fault(layer, name, code)
        if fault:
            faults.append(sentence("fault_of_object", layer=layer, object=repr(name), fault=fault))
        elif not checked_before:
            good.update(code for code in codes if is_valid_everywhere(layer, code))
    if faults:
        raise PolicyError(*faults)


def _place(name: str) -> str:
    service, route = split_object(name) if " " in name else (PORTCULLIS, name)
    method, _, path = route.partition(" ")
    # No object of this service starts with a letter here, so those of others come after them.
    return f"{path} {method}" if service == PORTCULLIS else f"{service} {path} {method}"
