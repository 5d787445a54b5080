"""Posts to webhooks as a feature."""

from service.kernel.feature import Feature

FEATURE = Feature(name="webhooks", title="Posts to receivers of webhooks")
