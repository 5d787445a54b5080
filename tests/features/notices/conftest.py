"""The service that sends mail, of the tests of links: each test has a person of its own."""

from tests.features.account_links.conftest import mailing

__all__ = ["mailing"]
