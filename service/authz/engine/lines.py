"""All lines of a policy, grouped by layer and object."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from service.authz.engine.rules import LAYERS, Rule
from service.kernel.cooperative_yield import cooperatively


class Lines:
    """An immutable, ordered set of lines.

    Iterates over the lines by layer, in the order of ``LAYERS``. Objects are in the order of their first
    line, the lines of one object in the given order. To save memory, a hundred thousand lines are kept as
    texts that share their codes: a Rule is made on demand.
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

    def joined(self, *others: Lines) -> Lines:
        """Return these lines and those of ``others``, in this order within each layer."""
        whole = Lines()
        for part in (self, *others):
            for layer, objects in part._codes.items():  # noqa: SLF001 - of this class
                into = whole._codes[layer]
                for name, codes in cooperatively(objects.items()):
                    before = into.get(name, ())
                    into[name] = (
                        (*before, *(code for code in codes if code not in before)) if before else codes
                    )
        return whole

    def codes(self, layer: str, name: str) -> tuple[str, ...]:
        """Return the codes of the lines of object ``name`` in ``layer``, in order; empty without a line."""
        return self._codes.get(layer, {}).get(name, ())

    def of(self, layer: str, name: str) -> tuple[Rule, ...]:
        """Return the lines of object ``name`` in ``layer``, in order."""
        return tuple(Rule(layer, name, code) for code in self.codes(layer, name))

    def objects(self, layer: str) -> Iterable[str]:
        """Return the objects that have lines in ``layer``."""
        return self._codes[layer].keys()

    def __iter__(self) -> Iterator[Rule]:
        for layer, objects in self._codes.items():
            for name, codes in objects.items():
                for code in codes:
                    yield Rule(layer, name, code)

    def __len__(self) -> int:
        return sum(len(codes) for objects in self._codes.values() for codes in objects.values())

    def __repr__(self) -> str:
        return f"<{len(self)} lines>"
