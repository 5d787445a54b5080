"""A script: own the embedded stores of a directory until killed, telling their URLs in one line of JSON."""

import json
import sys
import time
from pathlib import Path

from service.kernel.structlog_alone import leave_rich_out

leave_rich_out()  # as the command line does it

from service.features.embedded.stores import EmbeddedStores  # noqa: E402

if __name__ == "__main__":
    with EmbeddedStores(Path(sys.argv[1])) as stores:
        sys.stdout.write(json.dumps([stores.database_url, stores.redis_url]) + "\n")
        sys.stdout.flush()
        time.sleep(600)
