"""Tracebacks in the log without rich, as commands and workers have them: one by rich takes a second and more.

Import it before anything that imports structlog.
"""

from service.kernel.structlog_alone import leave_rich_out

leave_rich_out()
