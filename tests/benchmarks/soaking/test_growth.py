"""What a soak complains about, and what it lets pass."""

from collections.abc import Callable

import pytest

from tests.benchmarks.soak import main
from tests.benchmarks.soaking.sampling import Process, Sample
from tests.benchmarks.soaking.verdict import complaints, judged, processor, slope, thirds
from tests.support.cases import with_each

Change = Callable[[float], float]


def steady(_hours: float) -> float:
    return 0.0


def samples(
    *,
    memory: Change = steady,
    descriptors: Change = steady,
    threads: Change = steady,
    keys: Change = steady,
    connections: Change = steady,
    second_worker: float = 1.0,
    seconds: int = 1200,
) -> list[Sample]:
    """Return samples of two workers, with what each figure grows by after some hours."""

    def at(second: int) -> Sample:
        hours = second / 3600
        growing = Process(
            120 + memory(hours), 50 + int(descriptors(hours)), 9 + int(threads(hours)), second / 10
        )
        other = Process(120, 50, 9, second_worker * second / 10)
        return Sample(
            seconds=second,
            processes={"launcher": Process(30, 19, 1, 0), "worker 1": growing, "worker 2": other},
            database_connections=16 + int(connections(hours)),
            store_connections=6,
            keys=400 + int(keys(hours)),
            store_memory=2.0,
        )

    return [at(second) for second in range(0, seconds + 1, 10)]


def test_a_service_that_stays_as_it_is_gives_no_complaint() -> None:
    assert list(complaints(samples())) == []


def test_what_grows_while_it_warms_up_is_no_complaint() -> None:
    assert list(complaints(samples(memory=lambda hours: min(hours, 1 / 12) * 400))) == []


def test_memory_that_is_taken_and_given_back_is_no_complaint() -> None:
    hashing = samples(memory=lambda hours: 0 if 0.1 < hours < 0.15 or 0.25 < hours < 0.28 else 60 * hours)
    assert list(complaints(hashing)) == []


@with_each(
    ("grown", "named"),
    [
        (samples(memory=lambda hours: 30 * hours), "memory of the worker 1"),
        (samples(descriptors=lambda hours: 60 * hours), "descriptors of the worker 1"),
        (samples(threads=lambda hours: 30 * hours), "threads of the worker 1"),
        (samples(keys=lambda hours: 1000 * hours), "keys of the session store"),
        (samples(connections=lambda hours: 30 * hours), "connections to the database"),
        (samples(second_worker=2.0), "unevenly"),
    ],
)
def test_each_kind_of_growth_is_one_complaint(grown: list[Sample], named: str) -> None:
    (complaint,) = complaints(grown)
    assert named in complaint


def test_of_a_short_run_only_the_shares_of_the_workers_are_judged() -> None:
    short = samples(memory=lambda hours: 3000 * hours, second_worker=2.0, seconds=60)
    (complaint,) = complaints(short)
    assert "unevenly" in complaint


def test_the_figures_are_those_after_the_warm_up() -> None:
    kept = judged(samples(keys=lambda hours: 3600 * hours))
    assert kept[0].seconds == 300
    assert slope(kept, lambda sample: sample.keys) == pytest.approx(3600, rel=0.001)
    assert thirds(kept, lambda sample: sample.keys) == pytest.approx((845, 1455), abs=2)
    assert processor(kept) == {"worker 1": 90, "worker 2": 90}


def test_an_option_that_is_none_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--hours", "2"])
    assert "--hours" in capsys.readouterr().err
