"""Files: the object store that holds their bytes, and later their tokens and quotas.

Owns every call to the object store. Knows nothing of HTTP, sessions or authorization.
"""
