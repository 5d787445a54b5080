"""Hands the settings of the workers from the launcher to the template: see ``prebuilt``."""

import os
import pickle
from typing import Final

from service.settings import Settings

VARIABLE: Final = "_PORTCULLIS_HANDOVER"
"""In the environment of the template: the number of the launcher's file."""

OFF: Final = "_PORTCULLIS_OFF"
"""In the environment of the template: the features that are off, comma between."""


class Handover:
    """A file without a name (memfd_create(2)), empty until the settings are handed over."""

    def __init__(self) -> None:
        """Make the file, and put its number into the environment. Call it before the first child."""
        self.file = os.memfd_create("portcullis-settings")
        os.environ[VARIABLE] = str(self.file)

    def give(self, settings: Settings) -> None:
        """Pass on ``settings``, with all stores and secrets."""
        os.write(self.file, pickle.dumps(settings))
