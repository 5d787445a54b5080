"""API keys of people, for programs that act for their owner."""
