"""Files: uploads, public links, the cleanup, and the object store that holds the bytes.

Owns every call to the object store, and keeps rows and objects consistent. Knows nothing of HTTP, sessions or
authorization.
"""
