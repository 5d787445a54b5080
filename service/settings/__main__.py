"""Print the table of settings as Markdown."""

from __future__ import annotations

import sys

from service.settings.markdown import markdown

sys.stdout.write(markdown())
