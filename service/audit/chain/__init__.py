"""The audit chain: each day of a log as a chain of hashes, written, walked, verified and anchored."""
