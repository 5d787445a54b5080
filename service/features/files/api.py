"""Files: upload, list, download, delete: ``/api/file``; and their public links: ``/api/public/file``.

Only permission codes decide: callers with the code for downloads may download all files. Owners matter only
for quotas and as a filter of the list.
"""

from typing import Annotated, Any, Final

from msgspec import Meta

from service import errors
from service.endpoints.record_endpoints import Endpoint
from service.features.files import store as files
from service.features.files.downloads import Downloads, file_tag
from service.features.files.links import PublicLink, PublicLinks
from service.features.files.multipart import AROUND, FileBody
from service.features.files.store import File
from service.features.files.uploads import Offer, Uploads
from service.records.database.transactions import Database
from service.web.content.streams import ANY_TYPE, Stream
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import Responders, needs, public, sends, takes_file, writes
from service.web.messages.preconditions import answer_tag, require_match
from service.web.messages.record_schemas import filters_of, shows
from service.web.messages.schema import Page, PageQuery, Schema, page_answer, sort_keys
from service.web.requests.routes import Routes

FIELD: Final = "file"


@shows(File, leave_out=("key",))
class StoredFile(Schema):
    """An uploaded file. Its content never changes; `sha256` in quotes is its `ETag`."""


@filters_of(files.FileFilter)
class FileQuery(PageQuery):
    """Filters and order of files; `name` matches by parts, in any case."""

    sort: Annotated[str, sort_keys("FileSort", files.SORTS)] = "id"


class FileList(Endpoint[Database], at="/api/file/list"):
    @needs("system:file:list", name="listFiles")
    async def on_get(self, context: RequestContext, query: FileQuery) -> Page[StoredFile]:
        """List files."""
        criteria = query.filter(files.FileFilter)
        async with self.part.snapshot() as connection:
            listed = await files.page(connection, criteria, page=query.page, size=query.size, sort=query.sort)
        return page_answer(query, listed, StoredFile)


class Files(Responders, at="/api/file"):
    def __init__(self, taking: Uploads, silence: float) -> None:
        self._uploads = taking
        self._silence = silence

    @needs(
        "system:file:upload",
        name="uploadFile",
        refuses=[errors.TooLarge, errors.QuotaExceeded, errors.UnsupportedMediaType],
        tagged=True,
    )
    @writes(
        "upload",
        "INSERT",
        keeps="nothing",
        created="/api/file/{id}",
        refuses_keys="its body is stored while it arrives, and can't be compared",
    )
    @takes_file(FIELD)
    async def on_post(self, context: RequestContext) -> StoredFile:
        """Upload a file.

        The type is detected from the content, which must fit the extension of the name. The type that the
        form part states is ignored.
        """
        body = FileBody(context.request, FIELD, self._silence)
        least = max(0, (body.length or 0) - AROUND)
        self._uploads.refuse_length(least)
        try:
            await body.open()
            offer = Offer(context.user.user_id, body.name, body.content(), least, body.length)
            stored = await self._uploads.receive(offer)
        finally:
            await body.close()
        answer_tag(context, file_tag(stored))
        return StoredFile.of(stored)


class OneFile(Responders, at="/api/file/{id}"):
    def __init__(self, database: Database, downloads: Downloads, taking: Uploads) -> None:
        self._database = database
        self._downloads = downloads
        self._uploads = taking

    @needs("system:file:download", name="downloadFile", refuses=[errors.NotFound, errors.RangeNotSatisfiable])
    @sends(ANY_TYPE)
    async def on_get(self, context: RequestContext, id: int) -> Stream:
        """Download a file, or with `Range` a part of it.

        It is always sent as an attachment. 304 if `If-None-Match` names its `ETag`; 307 if the object store
        delivers files itself.
        """
        async with self._database.transaction() as connection:
            file = await files.read(connection, id)
        return self._downloads.answer(context, file)

    @needs("system:file:delete", name="deleteFile", refuses=[errors.NotFound, errors.PreconditionFailed])
    @writes("delete", "DELETE")
    async def on_delete(self, context: RequestContext, id: int) -> None:
        """Delete a file and its public link."""
        async with self._database.transaction() as connection:
            file = await files.read(connection, id, lock=True)
            require_match(context, file_tag(file))
            await files.discard(connection, id)
        await self._uploads.clear(id, file.key)


class LinkBody(Schema):
    """Lifetime of the link in seconds; the default is in the settings."""

    expires_in: Annotated[int, Meta(ge=1, le=2**31, examples=[86400])] | None = None


@shows(PublicLink)
class Link(Schema):
    """A public link. Its token is shown only this once."""

    token: str


class FileLink(Endpoint[PublicLinks], at="/api/file/{id}/public-link"):
    @needs("system:file:share", name="createPublicLink", refuses=[errors.NotFound])
    @writes(
        "share",
        "UPDATE",
        keeps="params",
        example={"expiresIn": 86400},
        refuses_keys="its answer holds the secret of the link, which is never kept",
    )
    async def on_post(self, context: RequestContext, body: LinkBody, id: int) -> Link:
        """Create a public link to a file.

        Anyone with the link can download the file without a login, until the link expires. The former link of
        the file is replaced.
        """
        return Link.of(await self.part.make(id, body.expires_in))

    @needs("system:file:share", name="revokePublicLink", refuses=[errors.NotFound])
    @writes("unshare", "UPDATE")
    async def on_delete(self, context: RequestContext, id: int) -> None:
        """Revoke the public link of a file, if it has one."""
        await self.part.revoke(id)


Token = Annotated[str, Meta(examples=["a-link-that-nobody-has-made"])]


class PublicFile(Responders, at="/api/public/file/{token}"):
    def __init__(self, links: PublicLinks, downloads: Downloads) -> None:
        self._links = links
        self._downloads = downloads

    @public(name="downloadPublicFile", refuses=[errors.NotFound, errors.RangeNotSatisfiable])
    @sends(ANY_TYPE)
    async def on_get(self, context: RequestContext, token: Token) -> Stream:
        """Download the file of a public link.

        Unknown, expired and revoked links get the same 404.
        """
        return self._downloads.answer(context, await self._links.file_of(token))


def add_routes(routes: Routes, container: Any) -> None:
    """Register the endpoints, made of the parts of ``container``."""
    database, parts = container.stores.database, container.parts["files"]
    routes.serve(FileList(database))
    routes.serve(Files(parts.uploads, container.settings.upload.idle_timeout))
    routes.serve(OneFile(database, parts.downloads, parts.uploads))
    routes.serve(FileLink(parts.links))
    routes.serve(PublicFile(parts.links, parts.downloads))
