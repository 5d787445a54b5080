"""``portcullis doctor``: checks an installation for operator errors, and says how to correct them.

The checks are in ``service.diagnosis``. Changes nothing, prints no secret, and reports a
store that is out of reach instead of failing.
"""

from service.cli.doctor.diagnosis import diagnose
from service.cli.doctor.report import as_json, as_text, status_of

__all__ = ["as_json", "as_text", "diagnose", "status_of"]
