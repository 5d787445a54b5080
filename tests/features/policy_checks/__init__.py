"""Tests of what refuses a policy or a change."""
