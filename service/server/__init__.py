"""The launcher: the order of a start, and the processes that serve.

Owns the order of a start: installation, settings, policy, routes, socket, stores, secret, schema, first
administrator, workers. Workers do none of these steps. Knows nothing of single requests.
"""
