"""The page of a run and its charts."""

import xml.etree.ElementTree as ET
from pathlib import Path

import msgspec

from tests.benchmarks.frame.chart import chart
from tests.benchmarks.frame.machine import ROOT
from tests.benchmarks.frame.page import CHARTS, PAGE, REFERENCE, RESULTS, charts, page, publish
from tests.benchmarks.frame.results import Machine, Report, Run, at_least, result

BARE = result("bare Falcon", "requests/s", [900.0, 1000.0, 1200.0], better="more", chart="A GET")
OWN = result(
    "own",
    "requests/s",
    [400.0, 500.0, 600.0],
    better="more",
    against=BARE,
    goals=[at_least(800)],
    chart="A GET",
)
RUN = Run(
    started="2026-01-01T00:00:00+00:00",
    commit="abc",
    modified=False,
    python="3.11",
    packages={"falcon": "4"},
    machine=Machine("a processor", 2, 4096, "Linux", 0.1, 0.2),
    quick=False,
    reports=(Report("guarded", "what it costs", 9.0, (BARE, OWN), ("a peer is left out",)),),
)
SVG = "{http://www.w3.org/2000/svg}"


def test_a_chart_has_bars_as_long_as_the_figures_and_lines_for_spread_and_goal() -> None:
    drawn = ET.fromstring(chart("A GET", [BARE, OWN]))
    widths = [float(bar.attrib["width"]) for bar in drawn.iter(f"{SVG}rect")]
    assert round(widths[0] / widths[1], 2) == 2.0
    kinds = [element.attrib.get("class") for element in drawn.iter() if element.tag != f"{SVG}text"]
    assert (kinds.count("compared"), kinds.count("bar"), kinds.count("goal")) == (1, 1, 1)
    assert kinds.count("spread") == 2
    assert next(text.text for text in drawn.iter(f"{SVG}text")) == "A GET"
    right = max(float(text.attrib["x"]) for text in drawn.iter(f"{SVG}text"))
    assert right <= float(drawn.attrib["viewBox"].split()[2])


def test_a_page_names_what_falls_short_and_links_to_its_charts(tmp_path: Path) -> None:
    publish(RUN, tmp_path)
    text = (tmp_path / "performance.md").read_text()
    assert text == page(RUN)
    assert (
        "## What falls short\n\n- `guarded`, own: 500 requests/s (400 … 600), 0.500 (0.444 … 0.500) times"
        in text
    )
    ((name, svg),) = charts(RUN)
    assert f"![A GET](performance/{name})" in text
    assert (tmp_path / "performance" / name).read_text() == svg
    assert "- a peer is left out" in text
    assert (
        "| own | 500 requests/s (400 … 600) | 0.500 (0.444 … 0.500) times bare Falcon | ≥ 800: **missed** |"
        in text
    )


def test_the_page_of_the_documentation_shows_the_results_beside_it() -> None:
    run = msgspec.json.decode((REFERENCE / RESULTS).read_bytes(), type=Run)
    again = f"`python3 dev.py bench page {(REFERENCE / RESULTS).relative_to(ROOT)}` writes what belongs there"
    assert (REFERENCE / PAGE).read_text("utf-8") == page(run), again
    shown = {path.name: path.read_text("utf-8") for path in (REFERENCE / CHARTS).iterdir()}
    assert shown == dict(charts(run)), again


def test_charts_of_an_earlier_run_are_removed(tmp_path: Path) -> None:
    (tmp_path / "performance").mkdir()
    (tmp_path / "performance" / "old.svg").touch()
    publish(RUN, tmp_path)
    assert [path.name for path in (tmp_path / "performance").iterdir()] == ["guarded-a-get.svg"]
