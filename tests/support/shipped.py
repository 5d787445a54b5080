"""What the shipped model says, for tests of what is asked before a policy is published."""

from __future__ import annotations

from service.authz.publishing.shipped import read_shipped
from service.authz.review.covered import covered_by

SHIPPED = read_shipped()
COVERED = covered_by(SHIPPED.model_text)
