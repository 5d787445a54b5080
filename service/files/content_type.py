"""Media types of uploaded files, detected by content, and which of them are accepted."""

from __future__ import annotations

from collections.abc import Collection

from service.errors import UnsupportedMediaType, ValidationFailed
from service.kernel.media_types import KIND_OF, extension_of, kinds_of


def type_of(name: str, head: bytes, taken: Collection[str]) -> str:
    """Return the media type of the file ``name`` that begins with ``head``; one of ``taken``.

    The type that the client states is ignored. Raises UnsupportedMediaType for unknown or not accepted
    content, ValidationFailed if the extension of the name does not fit the content.
    """
    extension = extension_of(name)
    if extension and extension not in KIND_OF:
        raise UnsupportedMediaType("Files with this extension are not accepted")
    kinds = kinds_of(head)
    if not extension:
        kinds = [kind for kind in kinds if kind.media_type in taken]
        if not kinds:
            raise UnsupportedMediaType("Files with this content are not accepted")
        return kinds[0].media_type
    kind = KIND_OF[extension]
    if kind.media_type not in taken:
        raise UnsupportedMediaType("Files with this extension are not accepted")
    if kind not in kinds:
        raise ValidationFailed(("file", "The content is not what the extension of the name says"))
    return kind.media_type
