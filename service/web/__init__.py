"""What every endpoint shares on the way from ASGI to a typed function and back.

Owns marks, the admission gate, the parsing of requests, responses, problem documents, the log, and the
OpenAPI document made from all of these. It is the only generic Falcon code. It must not know any single
endpoint, and holds no rule about who may do what: it asks ``authn`` who calls and ``authz`` whether they may.
"""
