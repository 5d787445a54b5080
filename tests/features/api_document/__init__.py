"""Tests of the pages of the API and of the guide."""
