"""Draws results as bars: an SVG that fits a light and a dark page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from math import floor, log10
from typing import Final

from tests.benchmarks.frame.results import Result
from tests.benchmarks.frame.table import number

WIDTH: Final = 760
_LINE, _BAR, _TOP, _BOTTOM = 30, 16, 34, 30
_LETTER: Final = 7.0
"""The mean width of a letter, in pixels: how much room names get."""

# An image can't see the theme of its page, but what its reader prefers: the page passes it on.
_STYLE: Final = """
text { font: 13px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; fill: #1f2328 }
.title { font-weight: 600; font-size: 14px }
.scale { fill: #656d76; font-size: 11px }
.grid { stroke: #d1d9e0 }
.bar { fill: #2f6fb5 }
.compared { fill: #9aa4af }
.spread { stroke: #1f2328; stroke-width: 1.5 }
.goal { stroke: #b35900; stroke-width: 2; stroke-dasharray: 3 2 }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 }
.scale { fill: #9198a1 }
.grid { stroke: #3d444d }
.bar { fill: #5b9ee6 }
.compared { fill: #6b7580 }
.spread { stroke: #e6edf3 }
.goal { stroke: #f0a04b }
}
"""


def chart(title: str, results: Sequence[Result]) -> str:
    """Return an SVG with a bar for each of ``results``, which share a unit.

    A line through the end of a bar leads from the least to the greatest round; a dashed one is the goal. What
    others are compared with is grey. The scale starts at 0.
    """
    scale = _Scale.of(results)
    height = _TOP + _LINE * len(results) + _BOTTOM
    better = "more is better" if results[0].better == "more" else "less is better"
    unit = escape(f"{results[0].unit}; {better}")
    compared = {result.against for result in results}
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img"',
        f' aria-label="{escape(title)}, {unit}"><style>{_STYLE}</style>',
        f'<text class="title" x="8" y="18">{escape(title)}</text>',
        f'<text class="scale" x="{WIDTH - 8}" y="18" text-anchor="end">{unit}</text>',
        *scale.lines(height - _BOTTOM),
    ]
    for place, result in enumerate(results):
        middle = _TOP + _LINE * place + _LINE / 2
        parts += _bar(scale, result, middle, "compared" if result.name in compared else "bar")
    return "\n".join([*parts, "</svg>", ""])


@dataclass(frozen=True)
class _Scale:
    """Where values are: 0 at ``left``, ``width`` pixels for each 1, a line at each ``step`` up to ``top``."""

    left: float
    width: float
    step: float
    top: float

    @classmethod
    def of(cls, results: Sequence[Result]) -> _Scale:
        """Return a scale with room for the names and values of ``results``."""
        top = max(max(*result.rounds, *_goals(result), 0.0) for result in results)
        left = min(_LETTER * max(len(result.name) for result in results) + 16, WIDTH / 2)
        right = _LETTER * max(len(number(result.figure)) for result in results) + 16
        power = 10.0 ** floor(log10(top / 4))
        step = next(times * power for times in (1, 2, 5, 10) if top / (times * power) <= 5)
        return cls(left, (WIDTH - left - right) / top, step, top)

    def at(self, value: float) -> float:
        """Return where ``value`` is, in pixels."""
        return self.left + value * self.width

    def lines(self, end: float) -> Iterator[str]:
        """Yield the lines and their numbers, down to ``end``."""
        for count in range(int(self.top / self.step) + 1):
            value = count * self.step
            yield f'<path class="grid" d="M{self.at(value):.1f} {_TOP}V{end}"/>'
            yield (
                f'<text class="scale" x="{self.at(value):.1f}" y="{end + 16}" text-anchor="middle">'
                f"{value:,.10g}</text>"
            )


def _bar(scale: _Scale, result: Result, middle: float, kind: str) -> Iterator[str]:
    upper, text = middle - _BAR / 2, middle + 4.5
    width = scale.at(result.figure) - scale.left
    yield f'<text x="{scale.left - 8:.1f}" y="{text}" text-anchor="end">{escape(result.name)}</text>'
    yield f'<rect class="{kind}" x="{scale.left:.1f}" y="{upper}" width="{width:.1f}" height="{_BAR}"/>'
    least, most = scale.at(min(result.rounds)), scale.at(max(result.rounds))
    if len(result.rounds) > 1:
        yield f'<path class="spread" d="M{least:.1f} {middle}H{most:.1f}"/>'
    for goal in _goals(result):
        yield f'<path class="goal" d="M{scale.at(goal):.1f} {upper - 4}v{_BAR + 8}"/>'
    after = max(most, *map(scale.at, _goals(result)), 0.0) + 8
    yield f'<text x="{after:.1f}" y="{text}">{number(result.figure)}</text>'


def _goals(result: Result) -> list[float]:
    return [goal.value for goal in result.goals if goal.of == "figure"]
