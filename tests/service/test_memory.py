"""What a worker adds to the memory of its node."""

from pathlib import Path

import httpx

from tests.support.running import kilobytes, running_anew
from tests.support.waiting import eventually

MOST = 36 * 1024  # kB of a worker's own, as the benchmark `start` has it


def own(pid: int) -> int:
    return kilobytes(pid, "Private_Clean") + kilobytes(pid, "Private_Dirty")


def test_workers_share_what_the_template_has_made_and_import_no_client_of_a_bucket(tmp_path: Path) -> None:
    with running_anew(tmp_path, "--workers", "2") as service, service.client() as client:
        assert eventually(lambda: client.get("/health/ready").status_code == httpx.codes.OK, patience=60)
        assert eventually(lambda: len(service.workers) == 2, patience=60)
        assert {pid: own(pid) for pid in service.workers if own(pid) > MOST} == {}
        for pid in service.workers:
            assert "obstore" not in Path(f"/proc/{pid}/maps").read_text()
