"""What a process of its own appends to a file."""

from pathlib import Path

from service.features.decision_log.appended_file import AppendedFile


def append(path: Path, name: bytes) -> None:
    """Append 80 lines of 20,000 times ``name`` to the file ``path``, four at a time."""
    output = AppendedFile(path)
    for _ in range(20):
        output.write([name * 20_000 + b"\n"] * 4)
