"""Authentication: passwords, tokens, device sessions, denials; no permissions, HTTP or operation log.

A token works while its device session exists, was opened no later than the token's ``iat``, and no deny
marker covers that ``iat``, which is the store's time. No token, password or hash is ever logged.
"""
