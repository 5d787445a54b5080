"""Writes a run to ``docs/reference``: a page of tables, its charts, and the results themselves."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from tests.benchmarks.frame.chart import chart
from tests.benchmarks.frame.machine import ROOT
from tests.benchmarks.frame.results import Report, Result, Run
from tests.benchmarks.frame.scale import with_tables
from tests.benchmarks.frame.table import goal_text, number, spread, verdict

REFERENCE: Final = ROOT / "docs" / "reference"
PAGE, RESULTS, CHARTS = "performance.md", "performance.json", "performance"

_INTRODUCTION: Final = """# Performance

*For: operator, reviewer*

<!-- This page is written by `python3 dev.py bench`; edits are lost. -->

What the service costs, measured. [How it is measured, and where the time
goes](../explanation/performance.md) explains the figures. Each ratio is that of neighbouring rounds of the
same run, and stays when the machine changes; the figures themselves do not. A [launcher](glossary.md)
starts the workers of a node.
"""


def publish(run: Run, folder: Path = REFERENCE) -> None:
    """Write the page, the charts and the results of ``run`` to ``folder``, in place of those before.

    The tables about scale on the page that explains the figures, if it is beside ``folder``, are written too.
    """
    shutil.rmtree(folder / CHARTS, ignore_errors=True)
    (folder / CHARTS).mkdir(parents=True)
    for name, text in charts(run):
        (folder / CHARTS / name).write_text(text, "utf-8")
    (folder / PAGE).write_text(page(run), "utf-8")
    (folder / RESULTS).write_bytes(encoded(run))
    explained = folder.parent / "explanation" / PAGE
    if explained.exists():
        explained.write_text(with_tables(explained.read_text("utf-8"), run), "utf-8")


def encoded(run: Run) -> bytes:
    """Return ``run`` as JSON, as it is kept in files."""
    return msgspec.json.format(msgspec.json.encode(run), indent=1) + b"\n"


def charts(run: Run) -> Iterator[tuple[str, str]]:
    """Yield each chart of ``run``: the name of its file, and the SVG."""
    for report in run.reports:
        for title, results in _charted(report):
            yield _file(report, title), chart(title, results)


def page(run: Run) -> str:
    """Return the page, as Markdown."""
    parts = [_INTRODUCTION, _conditions(run)]
    if missed := [line for report in run.reports for line in _missed(report)]:
        parts.append("\n".join(["## What falls short", "", *missed, ""]))
    parts += map(_section, run.reports)
    return "\n".join(parts)


def _conditions(run: Run) -> str:
    here = run.machine
    versions = ", ".join(f"{name} {version}" for name, version in sorted(run.packages.items()))
    rows = [
        ("Measured", f"{run.started}, in {run.seconds / 60:.0f} minutes"),
        ("Commit", f"`{run.commit}`" + (" with changes" if run.modified else "")),
        ("Processor", f"{here.processor}, {here.cores} cores, {here.memory_mib / 1024:.0f} GiB"),
        ("Load before and after", f"{here.load_before:.2f}, {here.load_after:.2f}"),
        ("System", f"{here.system}, Python {run.python}"),
        ("Packages", versions),
    ]
    lines = ["| | |", "| --- | --- |", *(f"| {name} | {text} |" for name, text in rows), ""]
    if run.quick:
        lines += ["This was a quick run: it shows that each benchmark works; the figures mean little.", ""]
    lines += [f"The same as data: [{RESULTS}]({RESULTS}).", ""]
    return "\n".join(lines)


def _missed(report: Report) -> Iterator[str]:
    for result in dict.fromkeys(result for result, _ in report.missed()):
        ratio = f", {_ratio(result)}" if result.against else ""
        yield f"- `{report.name}`, {result.name}: {_figure(result)}{ratio}; the goal is {_goals(result)}."
    if report.failure:
        yield f"- `{report.name}` broke off: {report.failure}."


def _section(report: Report) -> str:
    about = report.about[0].upper() + report.about[1:]
    lines = [f"## {report.name}", "", f"{about}. It took {report.seconds:.0f} seconds.", ""]
    for title, _ in _charted(report):
        lines += [f"![{title}]({CHARTS}/{_file(report, title)})", ""]
    if report.results:
        lines += ["| What | Median (least … greatest) | Ratio | Goal |", "| --- | --- | --- | --- |"]
        lines += [
            f"| {result.name} | {_figure(result)} | {_ratio(result)} | {_kept(result)} |"
            for result in report.results
        ]
        lines.append("")
    if report.notes:
        lines += [*(f"- {note}" for note in report.notes), ""]
    return "\n".join(lines)


def _figure(result: Result) -> str:
    figure = f"{number(result.figure)} {result.unit}"
    return f"{figure} ({spread(result.rounds)})" if len(result.rounds) > 1 else figure


def _ratio(result: Result) -> str:
    return (
        ""
        if result.ratio is None
        else f"{number(result.ratio)} ({spread(result.ratios)}) times {result.against}"
    )


def _goals(result: Result) -> str:
    return ", ".join(map(goal_text, result.goals))


def _kept(result: Result) -> str:
    return f"{_goals(result)}: {verdict(result).replace('MISSED', '**missed**')}" if result.goals else ""


def _charted(report: Report) -> Iterator[tuple[str, list[Result]]]:
    """Yield each chart of a report: its title, and the results in it."""
    groups: dict[tuple[str, str], list[Result]] = {}
    for result in report.results:
        if result.chart:
            groups.setdefault((result.chart, result.unit), []).append(result)
    for (title, unit), results in groups.items():
        if sum(other == title for other, _ in groups) > 1:
            yield f"{title}: {unit}", results
        else:
            yield title, results


def _file(report: Report, title: str) -> str:
    return f"{report.name}-{re.sub('[^a-z0-9]+', '-', title.lower()).strip('-')}.svg"
