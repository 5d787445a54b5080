"""Parts of directories in a worker, for the features that use them."""

from typing import Any

from service.features.directories.directory import Directories
from service.kernel.feature import off_by


def directories_of(container: Any) -> Directories:
    settings, changes = container.settings, container.administration
    return Directories(
        changes.units,
        changes.accounts,
        container.sign_in.revocations,
        changes.notices,
        container.stores.sessions.synchronized.now,
        providers=settings.oidc.names,
        off={feature.name for feature in off_by(settings.features.off)},
    )
