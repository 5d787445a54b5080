"""The page about performance has the figures of the published run, and what follows from them."""

import msgspec

from tests.benchmarks.frame.page import REFERENCE, RESULTS
from tests.benchmarks.frame.results import Machine, Report, Run, result
from tests.benchmarks.frame.scale import COSTS, LOGIN, READ, REFRESH, milliseconds, short, with_tables
from tests.docs.pages import rows

SCALE = REFERENCE.parent / "explanation" / "performance.md"
EMPTY = "<!-- costs:start -->\n<!-- costs:end -->\n<!-- sizes:start -->\n<!-- sizes:end -->\n"


def run_of(figures: dict[tuple[str, str], float]) -> Run:
    """Return a run with these figures in milliseconds of processor time, by benchmark and name."""
    reports: dict[str, list[tuple[str, float]]] = {}
    for (benchmark, name), figure in figures.items():
        reports.setdefault(benchmark, []).append((name, figure))
    return Run(
        started="2026-01-01T00:00:00+00:00",
        commit="abc",
        modified=False,
        python="3.11",
        packages={},
        machine=Machine("a processor", 2, 4096, "Linux", 0.1),
        quick=False,
        reports=tuple(
            Report(
                benchmark,
                "",
                1.0,
                (
                    *(result(name, "requests/s", [7.0]) for name, _ in measured),
                    *(result(name, "ms of processor time", [figure]) for name, figure in measured),
                ),
            )
            for benchmark, measured in reports.items()
        ),
    )


NAMED = {
    pair
    for cost in COSTS
    for pair in ((cost.benchmark, cost.name), cost.database, cost.sessions)
    if pair is not None
}


def test_the_page_shows_the_published_results_and_what_follows() -> None:
    run = msgspec.json.decode((REFERENCE / RESULTS).read_bytes(), type=Run)
    assert {pair for pair in NAMED if milliseconds(run, *pair) <= 0} == set()
    again = "`python3 dev.py bench page docs/reference/performance.json` writes what belongs there"
    page = SCALE.read_text("utf-8")
    assert page == with_tables(page, run), again


def test_the_arithmetic_is_that_of_the_labels() -> None:
    figures = dict.fromkeys(NAMED, 1.0) | {
        (READ.benchmark, READ.name): 0.1,
        (LOGIN.benchmark, LOGIN.name): 30.0,
        (REFRESH.benchmark, REFRESH.name): 0.8,
    }
    page = with_tables(EMPTY, run_of(figures))
    assert "about 20,000 light guarded\nrequests a second, or 2,500 refreshes, or 67 logins." in page
    table = {cells[0].partition(" (")[0]: cells[1:] for cells in rows(page) if len(cells) == 5}
    assert table["Active users a day"] == ["200,000", "2,000,000", "20,000,000", "200,000,000"]
    assert table["Guarded requests a second, busiest hour"] == ["2,300", "23,000", "230,000", "2,300,000"]
    assert table["Cores for guarded requests"] == ["0.23", "2.3", "23", "230"]  # 2,315 of 0.1 ms
    assert table["Cores for logins"] == ["0.35", "3.5", "35", "350"]  # 11.6 of 30 ms
    assert table["Cores for refreshes"] == ["0.046", "0.46", "4.6", "46"]  # 57.9 of 0.8 ms
    assert table["Nodes of 2 cores, at 60 %"] == ["1", "6", "53", "521"]  # 0.625 ÷ 1.2, and so on, rounded up
    assert table["All active users log in within half an hour: cores"] == [
        "3.3",
        "33",
        "330",
        "3,300",
    ]
    assert table["Memory for sessions"] == ["1.6 GB", "16 GB", "160 GB", "1,600 GB"]
    assert table["Session store: cores"] == ["2.4", "24", "240", "2,400"]  # all at 1 ms: 2,315 + 11.6 + 57.9
    assert table["Shards of the session store"] == ["4", "40", "398", "3,974"]  # 2.4 ÷ 0.6, and so on
    assert table["PostgreSQL: cores for logins and refreshes"] == ["0.069", "0.69", "6.9", "69"]
    assert table["Connections to PostgreSQL"] == ["20", "120", "1,060", "10,420"]


def test_a_run_without_one_of_the_results_leaves_the_page_as_it_is() -> None:
    figures = dict.fromkeys(NAMED - {(LOGIN.benchmark, LOGIN.name)}, 1.0)
    assert with_tables(EMPTY, run_of(figures)) == EMPTY


def test_a_figure_has_two_significant_digits() -> None:
    assert [short(value) for value in (0.01234, 0.96, 2.34, 9.96, 23.7, 2314.8)] == [
        "0.012",
        "0.96",
        "2.3",
        "10",
        "24",
        "2,300",
    ]
