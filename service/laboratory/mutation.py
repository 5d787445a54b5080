"""The lines and rows that the decision tables depend on, and the policy faults that they would miss."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

import msgspec

from service.authz.engine.rules import ANYONE, APPROVE, LAYERS, LOGIN, REQUEST, RESOURCE, Rule
from service.authz.publishing.shipped import Shipped
from service.kernel.request_objects import code_of_review
from service.laboratory.matcher_rows import matcher_of, name_of
from service.laboratory.mutants import (
    LINE_DELETED,
    Mutant,
    dropped_rows,
    line_mutants,
    matcher_mutants,
)
from service.laboratory.tables import Question, Table
from service.laboratory.witness import Answer, Judge, Universe, as_case, mutated

Breaks = Callable[[Collection[Rule]], bool]
"""True if own lines break an invariant."""


class Survivor(msgspec.Struct, frozen=True, rename="camel"):
    """A mutant that no case detects; ``case`` is a decision table with a case that would, as YAML.

    ``case`` is None if no holder of a single code gets another decision; holders of two codes may.
    """

    kind: str
    mutant: str
    case: str | None

    def __str__(self) -> str:
        if self.case is None:
            return f"{self.kind}: {self.mutant}; no caller with a single code is decided differently"
        text = self.case.rstrip("\n").replace("\n", "\n    ")
        return f"{self.kind}: {self.mutant}; this case would notice it:\n    {text}"


class Tally(msgspec.Struct, frozen=True, rename="camel"):
    """The mutants of one kind: ``killed`` by a case or an invariant; ``equivalent`` change no decision."""

    kind: str
    mutants: int
    killed: int
    equivalent: int


class Mutation(msgspec.Struct, frozen=True, rename="camel"):
    """The result of a mutation test; ``score`` is the share of mutants killed, of those not equivalent."""

    score: float
    tallies: tuple[Tally, ...]
    survivors: tuple[Survivor, ...]


class Row(msgspec.Struct, frozen=True, rename="camel"):
    """A row of the matcher in one layer; ``idle`` rows can't allow anything in that layer, by proof."""

    row: str
    layer: str
    state: str


class Coverage(msgspec.Struct, frozen=True, rename="camel"):
    """The lines of the static policy and the rows of the matcher that no case depends on.

    A case depends on a line or row if deleting it changes the outcome of the case.
    """

    lines: int
    uncovered_lines: tuple[str, ...]
    rows: tuple[Row, ...]

    @property
    def uncovered_rows(self) -> tuple[Row, ...]:
        """The rows, except idle ones, that no case depends on in their layer."""
        return tuple(row for row in self.rows if row.state == "uncovered")


@dataclass(frozen=True, slots=True)
class _Probe:
    """A question of the cases, with the lines of its object, all lines, and the correct answer."""

    question: Question
    lines: tuple[Rule, ...]
    every: Sequence[Rule]
    right: Answer


def _opens(probe: _Probe, code: str) -> bool:
    return any(rule.code == code for rule in probe.lines)


class Bench:
    """The questions of decision tables for mutants; the cases are assumed to be correct.

    ``breaks`` checks whether own lines break an invariant, which kills a mutant too.
    """

    def __init__(self, own: Shipped, tables: Iterable[Table], breaks: Breaks = lambda _: False) -> None:
        self._own = own.rules
        self._matcher = matcher_of(own.model_text)
        self._original = Judge(self._matcher.expression)
        self._breaks = breaks
        self._universe = Universe(own, self._matcher.expression)
        self._by_layer: dict[str, list[_Probe]] = {layer: [] for layer in LAYERS}
        self._by_object: dict[tuple[str, str], list[_Probe]] = {}
        self._by_code: dict[tuple[str, str], list[_Probe]] = {}
        for probe in self._probes(tables):
            question = probe.question
            self._by_layer[question.layer].append(probe)
            self._by_object.setdefault((question.layer, question.object), []).append(probe)
            for rule in probe.lines:
                self._by_code.setdefault((question.layer, rule.code), []).append(probe)

    def _probes(self, tables: Iterable[Table]) -> Iterator[_Probe]:
        seen = set()
        for table in tables:
            every = tuple(table.rules)
            for asked in table.asked:
                for question in asked.questions:
                    lines = table.rules.of(question.layer, question.object)
                    right = self._original.answer(question, lines)
                    if (question, lines) not in seen:
                        seen.add((question, lines))
                        yield _Probe(question, lines, every, right)
                    if right.line is None:
                        break

    def uncovered_lines(self) -> tuple[str, ...]:
        """Return the lines that no case depends on."""
        return tuple(
            str(mutant.deleted)
            for mutant in line_mutants(self._own, ())
            if mutant.kind == LINE_DELETED and not self.noticed(mutant)
        )

    def coverage(self) -> Coverage:
        """Return the lines and rows that no case depends on."""
        rows = [
            Row(name_of(row), mutant.layer, self._state(mutant))
            for row in self._matcher.rows
            for mutant in dropped_rows(self._matcher, row)
            if mutant.layer is not None
        ]
        return Coverage(len(self._own), self.uncovered_lines(), tuple(rows))

    def _state(self, mutant: Mutant) -> str:
        if self.noticed(mutant):
            return "covered"
        differs = not self._matcher.splits_by_code or self._universe.witness(mutant) is not None
        return "uncovered" if differs else "idle"

    def mutation(self) -> Mutation:
        """Test all mutants; an undetected mutant is proven equivalent, or a survivor."""
        made = Counter[str]()
        killed = Counter[str]()
        equivalent = Counter[str]()
        survivors = []
        for mutant in self._mutants():
            made[mutant.kind] += 1
            if self.noticed(mutant):
                killed[mutant.kind] += 1
            elif (noticing := self._universe.witness(mutant)) is None and self._matcher.splits_by_code:
                equivalent[mutant.kind] += 1
            elif self._invariant(mutant):
                killed[mutant.kind] += 1
            else:
                survivors.append(Survivor(mutant.kind, mutant.text, as_case(noticing) if noticing else None))
        tallies = tuple(Tally(kind, count, killed[kind], equivalent[kind]) for kind, count in made.items())
        differing = made.total() - equivalent.total()
        return Mutation(killed.total() / differing if differing else 1.0, tallies, tuple(survivors))

    def _mutants(self) -> Iterator[Mutant]:
        registered = [
            Rule(layer, name, LOGIN)
            for (layer, name), probes in self._by_object.items()
            if (layer in (RESOURCE, REQUEST, APPROVE) or code_of_review(name) is not None)
            and "@" not in name
            and any(not (_opens(probe, LOGIN) or _opens(probe, ANYONE)) for probe in probes)
        ]
        yield from line_mutants(self._own, registered)
        yield from matcher_mutants(self._matcher, self._own)

    def noticed(self, mutant: Mutant) -> bool:
        """True if ``mutant`` changes the outcome of some case."""
        if mutant.expression is None:
            return any(
                self._original.answer(probe.question, mutated(probe.lines, mutant)) != probe.right
                for probe in self._touched(mutant)
            )
        judge, keyed = Judge(mutant.expression), not mutant.unkeyed
        return any(
            judge.answer(probe.question, probe.lines if keyed else probe.every, keyed=keyed) != probe.right
            for probe in self._touched(mutant)
        )

    def _touched(self, mutant: Mutant) -> Iterator[_Probe]:
        """Yield the questions that ``mutant`` can answer differently."""
        for layer in [mutant.layer] if mutant.layer else LAYERS:
            if mutant.object is not None:
                yield from self._by_object.get((layer, mutant.object), ())
            elif mutant.code is not None:
                yield from self._by_code.get((layer, mutant.code), ())
            else:
                yield from self._by_layer[layer]

    def _invariant(self, mutant: Mutant) -> bool:
        if mutant.expression is not None:
            return False
        lines = [rule for rule in self._own if rule != mutant.deleted]
        return self._breaks([*lines, mutant.added] if mutant.added else lines)
