"""Which type an uploaded file has, by its content, and whether such files are taken."""

from __future__ import annotations

from collections.abc import Collection

from service.errors import UnsupportedMediaType, ValidationFailed
from service.kernel.media_types import KIND_OF, extension_of, kinds_of


def type_of(name: str, head: bytes, taken: Collection[str]) -> str:
    """Return the media type of the file ``name`` that begins with ``head``, one of those ``taken``.

    What the client says about the type counts for nothing. UnsupportedMediaType for content that is not
    known or not taken, ValidationFailed where the name promises another content; a name without an extension
    promises nothing.
    """
    extension = extension_of(name)
    if extension and extension not in KIND_OF:
        raise UnsupportedMediaType("Files with this extension are not taken")
    kinds = kinds_of(head)
    if not extension:
        kinds = [kind for kind in kinds if kind.media_type in taken]
        if not kinds:
            raise UnsupportedMediaType("Files with this content are not taken")
        return kinds[0].media_type
    kind = KIND_OF[extension]
    if kind.media_type not in taken:
        raise UnsupportedMediaType("Files with this extension are not taken")
    if kind not in kinds:
        raise ValidationFailed(("file", "The content is not what the extension of the name says"))
    return kind.media_type
