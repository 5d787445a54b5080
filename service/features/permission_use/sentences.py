"""The results of the job: see ``service.kernel.coded_sentences``."""

from typing import Final

from service.kernel.core_sentences import feature_sentences

sentence: Final = feature_sentences({"uses_deleted": "{count} months of users deleted"})
