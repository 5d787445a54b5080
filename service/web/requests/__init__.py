"""The way of a request: middleware, authorization guard, parsing, the responder, problem documents."""
