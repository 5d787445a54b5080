"""Results as text: for a terminal, and as rows of a page."""

from tests.benchmarks.frame.results import Goal, Report, Result

HEAD = ("what", "median", "from … to", "unit", "ratio", "from … to", "goal", "")


def number(value: float) -> str:
    """Return ``value`` with three significant digits, or all those before the point."""
    if value == 0:
        return "0"
    digits = 2 if abs(value) >= 1 else 3
    for limit, places in ((100, 0), (10, 1)):
        if abs(value) >= limit:
            digits = places
            break
    return f"{value:,.{digits}f}"


def spread(values: tuple[float, ...]) -> str:
    """Return the least and the greatest of ``values``; nothing for a single one."""
    return f"{number(min(values))} … {number(max(values))}" if len(values) > 1 else ""


def goal_text(goal: Goal) -> str:
    """Return ``goal`` in a few characters."""
    sign = "≥" if goal.bound == "at least" else "≤"
    return f"{'ratio ' if goal.of == 'ratio' else ''}{sign} {number(goal.value)}"


def verdict(result: Result) -> str:
    """Return whether the goals are kept; nothing without a goal."""
    if not result.goals:
        return ""
    return "kept" if all(map(result.keeps, result.goals)) else "MISSED"


def row(result: Result) -> tuple[str, ...]:
    """Return the cells of a result, as ``HEAD`` names them."""
    ratio = result.ratio
    return (
        result.name,
        number(result.figure),
        spread(result.rounds),
        result.unit,
        "" if ratio is None else f"{number(ratio)} times {result.against}",
        spread(result.ratios) if result.ratios else "",
        ", ".join(map(goal_text, result.goals)),
        verdict(result),
    )


def printed(report: Report) -> str:
    """Return the results of a benchmark for a terminal."""
    rows = [HEAD, *map(row, report.results)] if report.results else []
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(
            cell.rjust(width) if place in (1, 2, 5) else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ).rstrip()
        for cells in rows
    ]
    lines += [f"note: {note}" for note in report.notes]
    if report.failure:
        lines.append(f"FAILED: {report.failure}")
    return "\n".join(f"  {line}" for line in [*lines, f"({report.seconds:.0f} s)"]) + "\n"
