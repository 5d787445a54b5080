"""Tests of the document of the API."""
