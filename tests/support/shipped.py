"""What the shipped model says, for tests of what is asked before a policy is published."""

from __future__ import annotations

from service.authz.publishing.derive import covered_by
from service.authz.publishing.shipped import read_shipped

SHIPPED = read_shipped()
COVERED = covered_by(SHIPPED.model_text)
