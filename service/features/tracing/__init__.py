"""Traces of requests by OpenTelemetry, sent to a collector by OTLP."""
