"""The audit trail: the operation log, the login log and the decision log, their chain and their export.

No request waits for its entry, no entry is lost without being counted, and none is written twice.
"""
