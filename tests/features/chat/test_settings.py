"""Destinations of the settings: read strictly, and never shown."""

import re
import tomllib
from pathlib import Path

import pytest

from service.settings import SettingsError, load
from service.settings.chats import ChatDestinations, chats_of_table, chats_of_text
from tests.support.cases import with_each

GUIDE = Path(__file__).parents[3] / "docs" / "guides" / "chat.md"
URL = "https://hooks.example.com/services/S3cret"


@with_each(
    ("members", "complaint"),
    [
        ('{"format": "slack"}', "needs one of url and url_file"),
        (f'{{"url": "{URL}"}}', "needs a format"),
        (f'{{"format": "irc", "url": "{URL}"}}', "one of slack, teams, standard"),
        ('{"format": "slack", "url": "http://hooks.example.com/S3cret"}', "only internal"),
        ('{"format": "slack", "url": "ftp://hooks.example.com/S3cret"}', "must have a url"),
        ('{"format": "slack", "url": "https://u:S3cret@hooks.example.com/"}', "must have a url"),
        ('{"format": "slack", "url": "https:///S3cret"}', "must have a url"),
        (f'{{"format": "standard", "url": "{URL}"}}', "needs a secret"),
        (
            f'{{"format": "slack", "url": "{URL}", "kinds": ["password_changed"]}}',
            "one of access_request_made",
        ),
        (f'{{"format": "slack", "url": "{URL}", "kinds": []}}', "must have kinds"),
        (f'{{"format": "slack", "url": "{URL}", "timeout": 600}}', "must have a timeout"),
        (f'{{"format": "slack", "url": "{URL}", "internal": "yes"}}', "must have internal"),
        (f'{{"format": "slack", "url": "{URL}", "text": "x"}}', "has no member text"),
    ],
)
def test_a_faulty_destination_is_refused_without_its_url(members: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint) as fault:
        chats_of_text(f'{{"approvers": {members}}}')
    assert "S3cret" not in str(fault.value)


def test_a_destination_shows_no_url() -> None:
    destinations = chats_of_text(f'{{"approvers": {{"format": "slack", "url": "{URL}"}}}}')
    assert isinstance(destinations, ChatDestinations)
    assert "S3cret" not in repr(destinations)


def test_links_need_a_public_address() -> None:
    text = f'{{"approvers": {{"format": "slack", "url": "{URL}"}}}}'
    variables = {"PORTCULLIS_CONFIG": "", "PORTCULLIS_CHAT__DESTINATIONS": text}
    with pytest.raises(SettingsError, match=r"server\.public_url") as fault:
        load(variables)
    assert "S3cret" not in str(fault.value)


def test_the_example_of_the_guide_is_read() -> None:
    (example,) = re.findall(r"```toml\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    (destination,) = chats_of_table(tomllib.loads(example)["chat"]["destinations"])
    assert (destination.name, destination.format) == ("approvers", "slack")
    assert destination.kinds == ("access_request_made", "emergency_given")
