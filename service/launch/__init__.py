"""The launcher: starts, supervises and stops the workers, and runs the operator's commands.

Owns the order of a start: installation, settings, policy, routes, socket, stores, secret, schema, first
administrator, workers. Workers do none of these steps. Knows nothing of single requests.
"""
