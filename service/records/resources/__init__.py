"""``sys.resource`` and ``sys.action_resource``: registered resources and their bindings."""
