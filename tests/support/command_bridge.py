"""``portcullis`` for shell scripts of tests, without the seconds that the command imports for.

The program that scripts find on their path hands its arguments, input and variables to the test over a
socket; the test runs the command in a fork of a process that has imported it all.
"""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.support import command_process

PATIENCE = 60.0  # seconds

_PROGRAM = """#!{python} -IS
import json, os, socket, sys
asked = dict(arguments=sys.argv[1:], given="" if sys.stdin.isatty() else sys.stdin.read())
asked.update(folder=os.getcwd(), environ=dict(os.environ))
with socket.socket(socket.AF_UNIX) as connection:
    connection.connect({address!r})
    connection.sendall(json.dumps(asked).encode())
    connection.shutdown(socket.SHUT_WR)
    status, output, errors = json.load(connection.makefile())
sys.stdout.write(output)
sys.stderr.write(errors)
sys.exit(status)
"""


@asynccontextmanager
async def command_on_path(folder: Path) -> AsyncIterator[None]:
    """Put the program ``portcullis`` into ``folder``; it works until the block ends."""
    address = folder / "socket"

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked = json.loads(await reader.read())
        ended = await asyncio.to_thread(
            command_process.run,
            Path(asked["folder"]),
            asked["arguments"],
            asked["environ"],
            asked["given"],
            PATIENCE,
        )
        writer.write(json.dumps(ended).encode())
        writer.close()

    program = folder / "portcullis"
    program.write_text(_PROGRAM.format(python=sys.executable, address=str(address)))
    program.chmod(0o755)
    async with await asyncio.start_unix_server(serve, address):
        yield
