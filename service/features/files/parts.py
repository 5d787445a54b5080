"""Files in a worker: uploads, downloads and public links."""

from typing import Any

from service.app.parts import Part
from service.features.files.downloads import Downloads
from service.features.files.links import PublicLinks
from service.features.files.uploads import Uploads
from service.files.connections import PresignedUrls


class Files(Part):
    """Services that receive, send and link files."""

    def __init__(self, container: Any) -> None:
        settings, stores = container.settings, container.stores
        presigned = PresignedUrls(settings.objstore) if settings.objstore.presigned_links else None
        self.uploads = Uploads(stores.database, stores.objects, settings.upload)
        self.downloads = Downloads(stores.objects, presigned)
        self.links = PublicLinks(stores.database, settings.upload)

    async def finish(self) -> None:
        """Wait for the deletions of objects that were begun."""
        await self.uploads.finish()
