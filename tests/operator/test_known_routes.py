from __future__ import annotations

from pathlib import Path

import pytest

from service.authz.publishing.shipped import POLICIES, configured, read_shipped
from service.operator.known_routes import known_routes, routes_of_code
from service.settings import Policy
from service.web.requests.routes import RoutesError

ROOT = Path(__file__).resolve().parents[2]


def test_the_shipped_lines_tell_the_routes_of_the_code() -> None:
    by_lines = {route.object: set(route.access) for route in known_routes(Policy(), read_shipped())}
    by_code = {route.object: set(route.access) for route in routes_of_code(read_shipped())}
    assert by_lines == by_code


def test_lines_of_the_operator_are_compared_with_the_code(tmp_path: Path) -> None:
    for path in (ROOT / POLICIES).glob("*.csv"):
        (tmp_path / path.name).write_text(path.read_text("utf-8"), "utf-8")
    lines = tmp_path / "endpoints.csv"
    lines.write_text(lines.read_text("utf-8") + "p, endpoint, GET /api/gone, @login\n", "utf-8")
    settings = Policy(folder=tmp_path)
    with pytest.raises(RoutesError, match="GET /api/gone"):
        known_routes(settings, configured(settings))
