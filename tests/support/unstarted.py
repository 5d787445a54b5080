"""Parts of a worker for tests of what is asked of them before, or without, its start."""

import base64
import json
import secrets
from collections.abc import Iterator
from contextlib import contextmanager

from service.app import Container
from service.authz.publishing.announced import AnnouncedRevision
from service.authz.publishing.derive import covered_by
from service.authz.publishing.shipped import read_shipped
from service.keyspace import Announcement, RevisionCheckpoint
from service.settings import load


@contextmanager
def unstarted() -> Iterator[Container]:
    """Yield a container whose stores are nowhere, with all that counts only where it is set."""
    destination = {"url": "file:///dev/null", "logs": ["operations", "logins", "decisions"]}
    webhook = {"url": "https://127.0.0.1:9/", "secret": f"whsec_{base64.b64encode(bytes(32)).decode()}"}
    variables = {
        "PORTCULLIS_CONFIG": "",
        "DATABASE_URL": "postgresql:///",
        "REDIS_URL": "unix:///dev/null",
        "JWT_SECRET": secrets.token_hex(32),
        "PORTCULLIS_POLICY__DECISION_LOG": "stdout",
        "PORTCULLIS_EXPORT__DESTINATIONS": json.dumps({"archive": destination}),
        "PORTCULLIS_EVENTS__DESTINATIONS": json.dumps({"warehouse": webhook}),
        "PORTCULLIS_TRACING__ENDPOINT": "http://127.0.0.1:9",
    }
    container = Container(load(variables), read_shipped())
    try:
        yield container
    finally:
        container.sign_in.passwords.close()


class Unannounced(AnnouncedRevision):
    """Announces nothing and asks nobody."""

    def __init__(self) -> None:
        """Need nothing."""

    async def read(self) -> Announcement:
        """Know nothing."""
        return Announcement({"": None}, None)

    async def keep(self, known: int, announced: Announcement, newest: int) -> None:
        """Do nothing."""

    async def anchor(self, _witness: RevisionCheckpoint) -> bool:
        """Record nothing."""
        return False


SHIPPED = read_shipped()
COVERED = covered_by(SHIPPED.model_text)
