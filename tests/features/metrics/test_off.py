"""Without metrics: 404 in their place, nothing is counted or shared, and readiness stays."""

from pathlib import Path

from service.features.operations.checks import checks_for
from service.kernel.feature import provided
from tests.features.metrics.test_metrics import TOKEN
from tests.service.conftest import variables_for
from tests.support.inside_fixtures import ServiceWith
from tests.support.running import running
from tests.support.waiting import eventually

OFF = {"PORTCULLIS_FEATURES__OFF": "metrics", "PORTCULLIS_SERVER__METRICS_TOKEN": TOKEN}


async def test_metrics_are_not_found_and_readiness_tells_its_details(service_with: ServiceWith) -> None:
    async with service_with(**OFF) as service:
        answer = await service.ask("GET", "/metrics", None, token=TOKEN)
        assert (answer.status, answer.json["code"]) == (404, "not_found")
        ready = await service.ask("GET", "/health/ready", None, token=TOKEN)
        assert "version" in ready.json["data"]["details"]
        assert (await service.ask("GET", "/api/user/list")).status == 200


def test_the_launcher_makes_no_board_and_its_workers_serve(
    seeded_database_url: str, redis_url: str, tmp_path: Path
) -> None:
    variables = variables_for(seeded_database_url, redis_url) | OFF
    with running(tmp_path, "--workers", "2", **variables) as service:
        assert eventually(lambda: len(service.workers) == 2)
        assert not [
            link
            for descriptor in Path(f"/proc/{service.workers[0]}/fd").iterdir()
            if "portcullis-metrics" in (link := str(descriptor.readlink()))
        ]
    assert provided("worker-board", ["metrics"]) == {}


def test_the_doctor_has_the_check_in_its_place_and_none_where_the_feature_is_off() -> None:
    names = [check.name for check in checks_for()]
    assert names[names.index("first-password") + 1] == "metrics"
    assert [check.name for check in checks_for(["metrics"])] == [name for name in names if name != "metrics"]
