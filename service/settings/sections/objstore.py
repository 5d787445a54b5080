"""The settings of the object store for files."""

from dataclasses import dataclass
from typing import Literal

from service.settings import checks
from service.settings.table import setting


@dataclass(frozen=True, slots=True, kw_only=True)
class Objstore:
    """The object store for files: S3-compatible, or a local directory."""

    endpoint: str = setting(
        "",
        env="OBJSTORE_ENDPOINT",
        check=checks.url("https", "http"),
        help="The S3 endpoint. Empty with a bucket: Amazon S3 of the region.",
    )
    bucket: str = setting(
        "", env="OBJSTORE_BUCKET", help="The bucket. Empty: files are kept in the data directory."
    )
    region: str = setting(
        "us-east-1", env="OBJSTORE_REGION", check=checks.not_empty, help="The region of the bucket."
    )
    access_key: str = setting(
        "",
        env="OBJSTORE_ACCESS_KEY",
        secret=True,
        help="The access key. Empty together with the secret key: the credentials of the machine's role.",
    )
    secret_key: str = setting("", env="OBJSTORE_SECRET_KEY", secret=True, help="The secret key.")
    addressing: Literal["path", "virtual"] = setting(
        "path",
        help="Where the bucket stands in requests: in the `path`, or in the host name (`virtual`), as newer "
        "buckets of Amazon S3 want it.",
    )
    create_bucket: bool = setting(
        False, help="Create a missing bucket at the start; the keys must have the permission."
    )
    timeout: float = setting(
        10.0,
        unit="s",
        check=checks.between(0.1, 300.0),
        help="Longest silence of the store within a transfer; then the answer is 503.",
    )
    presigned_links: bool = setting(
        False,
        help="Answer downloads with 307 and a signed URL of the store instead of the bytes. It needs both "
        "keys, clients that reach the store, and a store that obeys `response-content-disposition`: see "
        "[files](files.md).",
    )
    presigned_life: int = setting(
        60, unit="s", check=checks.between(1, 3600), help="How long such a URL can be used."
    )
