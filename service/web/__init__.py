"""The way from ASGI to a typed responder and back, shared by all endpoints.

Owns operation metadata, the authorization guard, the parsing of requests, responses, problem documents, the
log, and the OpenAPI document made from these. It is the only generic Falcon code. It must not know any single
endpoint, and has no authorization rules: it asks ``authn`` who calls and ``authz`` whether they may.
"""
