"""Warnings of a dry run about menus: new findings of the lint."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from service.features.explain.sentences import sentence
from service.kernel.write import DryRun
from service.laboratory.findings.menu_findings import menu_findings, placed_menus
from service.records.database.transactions import Connection


@asynccontextmanager
async def warning_of_menus(connection: Connection, dry_run: DryRun) -> AsyncIterator[None]:
    """Run a block that edits menus; add a warning to ``dry_run`` for each new finding."""
    before = {*menu_findings(await placed_menus(connection))}
    yield
    after = menu_findings(await placed_menus(connection))
    dry_run.warn(
        sentence("warning_of_menu", menu=finding.place, finding=finding.reason)
        for finding in after
        if finding not in before
    )
