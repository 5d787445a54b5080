"""structlog without rich, which it imports for colours wherever that is installed.

It takes a tenth of a second of each command, and some megabytes of each worker.
"""

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType
from typing import Final

_ITS_MODULE: Final = "structlog.dev"
_UNUSED: Final = "rich"


def leave_rich_out() -> None:
    """Hide rich from structlog, which may not be imported yet; everything else can import it."""
    if _Finder not in sys.meta_path:
        sys.meta_path.insert(0, _Finder)


class _Loader(SourceFileLoader):
    """Loads the module that would import rich."""

    def exec_module(self, module: ModuleType) -> None:
        """Run it; a name that is None in ``sys.modules`` can't be imported."""
        if _UNUSED in sys.modules:
            return super().exec_module(module)
        sys.modules[_UNUSED] = None  # type: ignore[assignment]
        try:
            return super().exec_module(module)
        finally:
            del sys.modules[_UNUSED]


class _Finder:
    """Finds that module, and no other."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return how to import ``name``; None if others know (``importlib.abc.MetaPathFinder``)."""
        if name != _ITS_MODULE:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec
