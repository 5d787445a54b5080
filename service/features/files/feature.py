"""Declaration of the feature: files."""

from service.kernel.feature import Feature

FEATURE = Feature(
    name="files",
    title="Uploads, downloads and public links of files",
    paths=("/api/file", "/api/public/file"),
    tags={"file": "Files: upload, list, download, delete, and public links."},
    sentences="sentences:sentence",
    parts="parts:Files",
    routes="api:add_routes",
    jobs="jobs:jobs",
)
