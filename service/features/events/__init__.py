"""Events about rights, recorded with their cause and delivered to webhooks."""
