"""Public links to files: ``/api/file/{id}/public-link``, opened at ``/api/public/file``."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from service.errors import NotFound, RangeNotSatisfiable
from service.files.links import PublicLinks
from service.web.content.downloads import ANY_TYPE, Downloads
from service.web.content.streams import Stream
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import (
    example_body,
    logged,
    named,
    needs,
    public,
    refuses,
    refuses_keys,
    sends,
)
from service.web.messages.schema import Moment, Schema, moment


class LinkBody(Schema):
    """Lifetime of the link in seconds; the default is in the settings."""

    expires_in: Annotated[int, Meta(ge=1, le=2**31, examples=[86400])] | None = None


class Link(Schema):
    """A public link. Its token is shown only this once."""

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
    @example_body({"expiresIn": 86400})
    @named("createPublicLink")
    @refuses_keys("its answer holds the secret of the link, which is never kept")
    async def on_post(self, context: RequestContext, body: LinkBody, id: int) -> Link:
        """Create a public link to a file.

        Anyone with the link can download the file without a login until it expires. It replaces the former
        link of the file.
        """
        made = await self._links.make(id, body.expires_in)
        return Link(token=made.token, url=made.url, expire_time=moment(made.expire_time))

    @needs("system:file:share")
    @logged("file", "unshare", "UPDATE")
    @refuses(NotFound)
    @named("revokePublicLink")
    async def on_delete(self, context: RequestContext, id: int) -> None:
        """Revoke the public link of a file, if it has one."""
        await self._links.revoke(id)


Token = Annotated[str, Meta(examples=["a-link-that-nobody-has-made"])]


class PublicFile:
    """``/api/public/file/{token}``."""

    def __init__(self, links: PublicLinks, downloads: Downloads) -> None:
        self._links = links
        self._downloads = downloads

    @public
    @sends(ANY_TYPE)
    @refuses(NotFound, RangeNotSatisfiable)
    @named("downloadPublicFile")
    async def on_get(self, context: RequestContext, token: Token) -> Stream:
        """Download the file of a public link.

        The same 404 for a link that is unknown, expired or revoked.
        """
        return self._downloads.answer(context, await self._links.file_of(token))
