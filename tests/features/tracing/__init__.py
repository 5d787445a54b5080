"""Tests of traces: what is recorded, what is sent, and what is left out."""
