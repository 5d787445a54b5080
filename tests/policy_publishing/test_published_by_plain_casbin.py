import json
from typing import Any

import psycopg
import pytest

from service.authz.engine.policy import Decision
from service.laboratory.published import PlainCasbin
from service.laboratory.reporting.published import published_test
from service.laboratory.table_run import plain
from service.settings import load
from tests.support.databases import NewDatabase
from tests.support.running import portcullis

SECRET = "kX7-Qw2zPv9_LrT4mNb8sYc1HjD6gUfEoAi3ZxKlVtR"


@pytest.fixture
def variables(new_database: NewDatabase, published_template: str) -> dict[str, str]:
    return {"DATABASE_URL": new_database(published_template), "JWT_SECRET": SECRET}


@pytest.mark.extended
def test_a_plain_casbin_answers_the_published_policy_as_the_service_does(
    variables: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("published")
    variables |= {"REDIS_URL": "unix:///dev/null"}
    ended = portcullis(folder, "policy", "test", "--published", "--json", **variables)

    assert ended.status == 0, ended.errors
    answer = json.loads(ended.output)
    assert answer["disagreements"] == []
    # Some of the objects, so that the evaluations stay within their bound; each is asked by several callers.
    assert answer["asked"] * 4 >= answer["objects"] > 400
    assert answer["questions"] > 4 * answer["asked"]
    with psycopg.connect(variables["DATABASE_URL"]) as connection:
        assert connection.execute("SELECT count(*) FROM sys.casbin_rule").fetchone() == (
            answer["publishedLines"],
        )


def test_a_service_that_decides_by_anything_else_is_found(
    variables: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if the service's index had lost the lines of one object: the first endpoint that is asked about.

    The plain Casbin evaluates no more than the lines that can decide.
    """
    lost: set[str] = set()
    real = PlainCasbin.compared

    def compared(casbin: PlainCasbin, codes: dict[str, tuple[str, ...]]) -> object:
        policy = casbin._policy
        judge = policy.judge
        monkeypatch.setattr(casbin, "_decide", plain(policy.model_text, policy.rules))

        def lossy(layer: str, name: str, held: Any) -> Decision:
            if layer == "endpoint" and not lost:
                lost.add(name)
            return judge(layer, "@nothing" if name in lost else name, held)

        monkeypatch.setattr(policy, "judge", lossy)
        return real(casbin, codes)

    monkeypatch.setattr(PlainCasbin, "compared", compared)
    result = published_test(load(variables | {"PORTCULLIS_CONFIG": "", "REDIS_URL": "unix:///dev/null"}))

    assert {disagreement.object for disagreement in result.disagreements} == lost != set()
    assert {disagreement.service for disagreement in result.disagreements} == {"denied"}
    assert "the service denied" in str(result)


def test_a_large_policy_is_asked_about_in_an_even_sample(
    variables: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.laboratory.published.MOST_EVALUATED", 20_000)
    result = published_test(load(variables | {"PORTCULLIS_CONFIG": "", "REDIS_URL": "unix:///dev/null"}))

    assert 0 < result.asked < result.objects
    assert f"about {result.asked} of {result.objects} objects" in str(result)


def test_it_is_asked_alone(variables: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("published")
    ended = portcullis(folder, "policy", "test", "--published", "--mutate", **variables)

    assert ended.status == 1
    assert "--published cannot be combined" in ended.errors
