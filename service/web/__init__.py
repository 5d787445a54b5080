"""The way from ASGI to a typed responder and back, shared by all endpoints, none of which it knows.

It has no authorization rules: it asks ``authn`` who calls and ``authz`` whether they may.
"""
