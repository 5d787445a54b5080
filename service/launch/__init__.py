"""The launcher: everything that happens before and around the workers, and the operator's commands.

Owns the order of a start: installation, settings, policy, routes, socket, stores, secret, schema, first
administrator, workers. Workers never do any of it. Knows nothing of single requests.
"""
