"""The sizes of the caches, as tests set them."""

import json
import os
import subprocess
import sys

import pytest

from service.kernel.cache_sizes import VARIABLE, cache_size
from tests.support.running import ROOT

SIZES = """
import json
from service.authn.verified import MOST_TOKENS
from service.authz.engine.paths import canonical
from service.authz.engine.policy import MAX_REMEMBERED
from service.settings import load
load({"PORTCULLIS_TEST_CACHES": "tokens=0", "PORTCULLIS_CONFIG": ""})
print(json.dumps([MOST_TOKENS, MAX_REMEMBERED, canonical.cache_info().maxsize]))
"""


def test_a_process_takes_the_sizes_of_its_environment() -> None:
    given = "tokens=0,decisions=1,resources=2"
    completed = subprocess.run(
        [sys.executable, "-c", SIZES],
        check=True,
        cwd=ROOT,
        env=os.environ | {VARIABLE: given},
        capture_output=True,
    )
    assert json.loads(completed.stdout) == [0, 1, 2]


def test_a_cache_that_is_not_named_keeps_its_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "tokens=0")
    assert cache_size("tokens", 7) == 0
    assert cache_size("decisions", 7) == 7


@pytest.mark.parametrize("text", ["tokens", "tokens=", "tokens=-1", "token=1", "tokens=1,"])
def test_what_names_no_cache_or_size_is_refused(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv(VARIABLE, text)
    with pytest.raises(ValueError, match=VARIABLE):
        cache_size("decisions", 7)
