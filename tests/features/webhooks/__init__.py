"""Tests of posts to receivers of webhooks."""
