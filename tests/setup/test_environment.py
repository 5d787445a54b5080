"""Tests do not depend on what the developer has exported."""

from __future__ import annotations

from tests.support.environment import forget_settings


def test_settings_of_the_developer_are_forgotten_and_all_else_is_kept() -> None:
    kept = {
        "PATH": "/bin",
        "HOME": "/home/ann",
        "PORTCULLIS_TEST_CACHES": "tokens=0",
        "PORTCULLIS_PICTURES": "1",
    }
    settings = {
        "DATABASE_URL": "postgresql://ann@production/portcullis",
        "PORTCULLIS_DATABASE__URL": "postgresql://ann@production/portcullis",
        "JWT_SECRET": "short",
        "PORTCULLIS_CONFIG": "/etc/portcullis.toml",
        "PGOPTIONS": "-c search_path=other",
    }
    environ = kept | settings
    forget_settings(environ)
    assert environ == kept
