"""``portcullis doctor``: looks at everything that an operator can get wrong, and says what to do about it.

Owns one small function for each check, in the table of ``checks``. Changes nothing, prints no secret, and
reports what is out of reach instead of failing with it.
"""

from service.launch.doctor.diagnosis import diagnose
from service.launch.doctor.report import as_json, as_text, status_of

__all__ = ["as_json", "as_text", "diagnose", "status_of"]
