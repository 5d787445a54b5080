"""Public links to files: ``/api/file/{id}/public-link``, and ``/api/public/file`` for whoever has one."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from service.errors import NotFound, RangeNotSatisfiable
from service.files.links import PublicLinks
from service.web.content.downloads import ANY_TYPE, Downloads
from service.web.content.streams import Stream
from service.web.requests.context import RequestContext
from service.web.requests.marks import logged, needs, public, refuses, sends
from service.web.requests.schema import Moment, Schema, moment


class LinkBody(Schema):
    """How long the link shall live, in seconds; left out, as long as the settings say."""

    expires_in: Annotated[int, Meta(ge=1, le=2**31, examples=[86400])] | None = None


class Link(Schema):
    """A public link. This is the only time that its token is told."""

    token: str
    url: Annotated[str, Meta(examples=["/api/public/file/…"])]
    expire_time: Moment


class FileLink:
    """``/api/file/{id}/public-link``."""

    def __init__(self, links: PublicLinks) -> None:
        self._links = links

    @needs("system:file:share")
    @logged("file", "share", "UPDATE", response=False)
    @refuses(NotFound)
    async def on_post(self, context: RequestContext, body: LinkBody, id: int) -> Link:
        """Make a public link to a file.

        Whoever has it can download the file without a login until it expires. The link that the file had
        before ends.
        """
        made = await self._links.make(id, body.expires_in)
        return Link(token=made.token, url=made.url, expire_time=moment(made.expire_time))

    @needs("system:file:share")
    @logged("file", "unshare", "UPDATE")
    @refuses(NotFound)
    async def on_delete(self, context: RequestContext, id: int) -> None:
        """End the public link of a file, if it has one."""
        await self._links.revoke(id)


class PublicFile:
    """``/api/public/file/{token}``."""

    def __init__(self, links: PublicLinks, downloads: Downloads) -> None:
        self._links = links
        self._downloads = downloads

    @public
    @sends(ANY_TYPE)
    @refuses(NotFound, RangeNotSatisfiable)
    async def on_get(self, context: RequestContext, token: str) -> Stream:
        """Download the file of a public link.

        404 in the same words for a link that never was, has expired or has ended.
        """
        return self._downloads.answer(context, await self._links.file_of(token))
