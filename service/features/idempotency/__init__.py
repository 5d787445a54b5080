"""Answers to creating requests, kept under the key of the client so that a repetition gets the same."""
