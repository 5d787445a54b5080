"""The public names for authors of extensions.

``docs/guides/add-endpoints.md`` explains an example, ``docs/examples/orders-admin``. An extension is a Python
package with an ``Extension`` named ``extension``. ``PORTCULLIS_EXTENSIONS`` names the packages that a service
loads.
"""

from service.app.extensions import Dependencies, ExtensionRoutes
from service.errors import Conflict, NotFound, PermissionDenied, Refusal, ValidationFailed
from service.kernel.coded_sentences import Sentence, Sentences
from service.kernel.extension import Extension, SeedResource
from service.kernel.permission_catalogue import Permission
from service.records.database.transactions import Connection, Database
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import logged, login, needs, public, writes
from service.web.messages.schema import Id, Moment, Page, PageQuery, Schema, moment

__all__ = [
    "Conflict",
    "Connection",
    "Database",
    "Dependencies",
    "Extension",
    "ExtensionRoutes",
    "Id",
    "Moment",
    "NotFound",
    "Page",
    "PageQuery",
    "Permission",
    "PermissionDenied",
    "Refusal",
    "RequestContext",
    "Schema",
    "SeedResource",
    "Sentence",
    "Sentences",
    "ValidationFailed",
    "logged",
    "login",
    "moment",
    "needs",
    "public",
    "writes",
]
