"""Cases of decision tables as tests of pytest: ``service.policy_testing`` for test projects of others."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path

import pytest

from service import settings
from service.authz.engine.lines import Lines
from service.authz.engine.policy import Policy
from service.authz.publishing.derive import derive
from service.authz.publishing.shipped import Shipped, read_shipped
from service.kernel.codes import HeldCodes
from service.kernel.services import BoundResource
from service.laboratory.analysis.explain import Explanation, explain
from service.laboratory.table_run import run_case
from service.laboratory.tables import Asked, Table, read_tables


class PolicyCase:
    """A case of a decision table, for one of its callers."""

    def __init__(self, own: Shipped, table: Table, asked: Asked) -> None:
        self._own = own
        self._table = table
        self._asked = asked

    def check(self) -> None:
        """Ask both enforcers; raises AssertionError with the differences from the table, by file and line."""
        failures = run_case(self._own.model_text, self._table, self._asked)
        if failures:
            raise AssertionError("\n".join(map(str, failures)))

    @property
    def name(self) -> str:
        """File, number and question, such as ``roles.yaml 3: list asks GET /api/role/7``."""
        return f"{self._table.path.name} {self._asked.number}: {self._asked}"


class PolicyUnderTest:
    """A policy to be asked: the lines of its files, and those of ``with_resources``."""

    def __init__(self, own: Shipped, shared: Lines) -> None:
        self._own = own
        self._policy: Policy = own.policy(shared, {}, 0)

    def with_resources(self, resources: Mapping[str, Iterable[str]]) -> PolicyUnderTest:
        """Return the same policy with registered resources, each bound to enabled Buttons with these codes.

        Such as ``{"GET /api/report/{id}": ["report:detail"]}``. Raises PolicyError for what can't be
        registered.
        """
        bound = [
            BoundResource(method, path, [(code, True) for code in codes])
            for name, codes in resources.items()
            for method, _, path in [name.partition(" ")]
        ]
        return PolicyUnderTest(self._own, derive(bound))

    def allows(self, request: str, codes: Iterable[str] | None) -> bool:
        """Return whether a request such as ``GET /api/user/7`` passes both layers.

        ``codes`` are the codes that the caller holds, None for a caller without a login.
        """
        return self.explain(request, codes).allowed

    def explain(self, request: str, codes: Iterable[str] | None) -> Explanation:
        """Return for each layer whether it allows, by which line, why not, and what would be required."""
        method, _, path = request.partition(" ")
        return explain(self._policy, method, path, None if codes is None else HeldCodes(codes))


def policy_cases(*paths: Path | str) -> pytest.MarkDecorator:
    """Run a test for each case of the decision tables in ``paths``, files or folders, as ``policy_case``.

    Relative paths start at the working directory.

    Raises PolicyError with file, line and reason for tables that can't be read.
    """
    own = _own()
    cases = [
        PolicyCase(own, table, asked) for table in read_tables(map(Path, paths), own) for asked in table.asked
    ]
    return pytest.mark.parametrize("policy_case", cases, ids=[case.name for case in cases])


@pytest.fixture(scope="session")
def policy_under_test() -> PolicyUnderTest:
    """Return the policy of the settings, without any registered resource."""
    return PolicyUnderTest(_own(), Lines())


@lru_cache(maxsize=1)
def _own() -> Shipped:
    policy = settings.load(os.environ).policy
    return read_shipped(
        policy.model, policy.folder, policy.invariants, policy.extensions, assurance=policy.assurance
    )
