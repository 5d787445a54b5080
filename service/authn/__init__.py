"""Authentication: passwords, tokens, device sessions, denials.

Owns the proof of identity, from the password at login to the token of each request, and its end. Device
sessions are bound to tokens by time. A token works while its device session exists, was opened no later than
the token's ``iat``, and no deny marker covers that ``iat``. Every ``iat`` is the store's time, later than the
user's marker and than all tokens issued before. So a token of a replaced session is always older than the
session that replaced it.

Must not know permissions (codes are carried, never judged), HTTP, or the operation log. No token, password or
hash is ever logged or put into a message.
"""
