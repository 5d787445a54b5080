"""The policy under examination: explanations, comparisons, findings, decision tables, proofs and replay.

Used by features and by ``service.policy_testing``. It decides no request: that is done by ``service.authz``.
"""
