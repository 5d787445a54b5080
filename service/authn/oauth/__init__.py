"""OAuth 2.0 for service accounts: client credentials (RFC 6749 §4.4) and introspection (RFC 7662).

The protocol is Authlib's, which is not asynchronous: keys and tokens are looked up before it is asked.
"""
