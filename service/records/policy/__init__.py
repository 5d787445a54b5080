"""``sys.casbin_rule``, ``sys.policy_revision`` and ``sys.policy_worker``: the published policy."""
