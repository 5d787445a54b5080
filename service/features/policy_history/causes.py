"""The causes of revisions as coded sentences.

A revision stores its cause as an English text, which its seal covers. Code and parameters are read from this
text alone: they say nothing that the seal does not cover, and revisions of older versions have them too.
"""

from typing import Final

from service.kernel.coded_sentences import OTHER, Sentence
from service.kernel.core_sentences import sentence
from service.kernel.stored_sentences import StoredSentences
from service.records.published.policy_revisions import PolicyRevision

_BY: Final = "cause_by"
_REASONS: Final = {
    *("revision_forged", "newest_revisions_lost", "revision_unusable"),
    *("seal_differs", "seal_missing", "kept_lines_differ", "stored_lines_differ"),
}
"""Codes of the reasons in causes."""


def _in_causes(code: str, _template: str) -> bool:
    return (code.startswith("cause_") and code != _BY) or code in _REASONS


_STORED: Final = StoredSentences(_in_causes, nested={"fault", "reason"})


def cause_of(revision: PolicyRevision) -> Sentence:
    """Return the cause of a revision; with the code `other` if no template has its text."""
    text, by = revision.cause, revision.user_name
    if by is not None and text.endswith(f" by {by}"):
        return sentence("cause_by", act=_STORED.read(text.removesuffix(f" by {by}")), user=by)
    act, separator, user = text.rpartition(" by ")
    stated = _STORED.read(act) if separator else None
    if stated is None or stated.code == OTHER:
        return _STORED.read(text)
    return sentence("cause_by", act=stated, user=user)
