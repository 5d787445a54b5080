"""A dry run is handed to what begins the transaction: nothing else keeps it from being saved."""

import ast

from tests.docs.pages import ROOT

ENDPOINTS = ROOT / "service" / "endpoints"


def is_marked(function: ast.AsyncFunctionDef) -> bool:
    """Return whether requests of the responder ``function`` may be dry runs."""
    decorators = [item.func if isinstance(item, ast.Call) else item for item in function.decorator_list]
    return any(ast.unparse(name).split(".")[-1] in ("dry_run", "sets") for name in decorators)


def writing(tree: ast.Module) -> list[ast.AsyncFunctionDef]:
    """Return the responders of a module that may be dry runs, and those that ``RecordKind`` makes."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.AsyncFunctionDef)]
    return [
        function
        for function in functions
        if is_marked(function) or "endpoint.changes" in ast.unparse(function)
    ]


def test_whatever_may_be_a_dry_run_hands_over_its_write_and_begins_no_transaction_itself() -> None:
    responders = [
        (source, function)
        for source in sorted(ENDPOINTS.rglob("*.py"))
        for function in writing(ast.parse(source.read_text("utf-8")))
    ]
    assert responders
    for source, function in responders:
        text = ast.unparse(function)
        assert "context.write" in text, f"{source}, line {function.lineno}"
        assert "context.user" not in text, f"{source}, line {function.lineno}"
        assert ".transaction(" not in text, f"{source}, line {function.lineno}"
