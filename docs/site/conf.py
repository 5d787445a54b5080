"""The settings of Sphinx for the documentation; ``python3 dev.py docs`` builds with them."""

from __future__ import annotations

from pathlib import Path

HERE = Path(__file__).parent

project = "Portcullis"
version = release = ""  # the service names its version to operators only
copyright = "The Portcullis maintainers"  # noqa: A001 - the name that Sphinx gives
extensions = ["myst_parser"]
language = "en"

myst_heading_anchors = 4  # headings are link targets, as on the usual code hosts
nitpicky = True
# Blocks show … for what differs each time. A block of JSON with it outside a text has no colours.
suppress_warnings = ["misc.highlighting_failure"]

html_theme = "furo"
html_title = project
html_static_path = [str(HERE / "static")]
html_copy_source = False
html_show_sourcelink = False
html_use_index = False
html_favicon = str(HERE / "static" / "icon.svg")
pygments_style = "a11y-light"
pygments_dark_style = "a11y-high-contrast-dark"
