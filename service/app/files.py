"""Files in a worker: uploads, downloads and public links."""

from dataclasses import dataclass

from service.app.stores import Stores
from service.files.connections import PresignedUrls
from service.files.links import PublicLinks
from service.files.uploads import Uploads
from service.settings import Settings
from service.web.content.downloads import Downloads


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """Services that receive, send and link files."""

    uploads: Uploads
    downloads: Downloads
    links: PublicLinks


def make(settings: Settings, stores: Stores) -> Files:
    """Return the services for files of the worker."""
    presigned = PresignedUrls(settings.objstore) if settings.objstore.presigned_links else None
    return Files(
        uploads=Uploads(stores.database, stores.objects, settings.upload),
        downloads=Downloads(stores.objects, presigned),
        links=PublicLinks(stores.database, settings.upload),
    )
