"""SQLAlchemy's asynchronous engine without its ORM, which nothing here uses.

``sqlalchemy.ext.asyncio`` offers sessions beside the engine, and imports the ORM for them: 6 MiB for each
worker, and a tenth of a second for each command.
"""

import sys
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from typing import Any, Final

_NAME: Final = "sqlalchemy.ext.asyncio"
_USED: Final = ("AsyncConnection", "AsyncEngine", "create_async_engine")


def import_engine_alone() -> None:
    """Import ``sqlalchemy.ext.asyncio`` with the names of the engine only, unless it is imported already.

    It becomes the whole package at the first use of another name, such as ``AsyncSession``.
    """
    if _NAME in sys.modules:
        return
    spec = find_spec(_NAME)
    if spec is None or spec.loader is None:
        raise ImportError(f"{_NAME} is missing", name=_NAME)
    loader, package = spec.loader, module_from_spec(spec)

    def whole(name: str) -> Any:
        """Stand in for a name that is not there (PEP 562)."""
        if not name.startswith("__") and vars(package).pop("__getattr__", None):
            loader.exec_module(package)
            return getattr(package, name)
        raise AttributeError(f"module {_NAME!r} has no attribute {name!r}")

    sys.modules[_NAME] = package
    engine = import_module(f"{_NAME}.engine")
    vars(package).update({name: getattr(engine, name) for name in _USED}, __getattr__=whole)
