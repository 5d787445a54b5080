"""Posts to receivers of webhooks, for the features that send events, notices and logs."""
