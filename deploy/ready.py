#!/usr/bin/env python3
"""Health check of a container: exit status 0 when the node in it is ready, else 1 with the reason.

It asks port ``PORTCULLIS_SERVER__PORT`` of this machine, 8080 by default, for 4 s at most, and no proxy.
"""

import os
import sys
from http.client import HTTPConnection, HTTPException

connection = HTTPConnection("127.0.0.1", int(os.environ.get("PORTCULLIS_SERVER__PORT", "8080")), timeout=4)
try:
    connection.request("GET", "/health/ready")
    answer = connection.getresponse()
    told = answer.read(4096).decode()
except (OSError, HTTPException) as error:
    sys.exit(f"portcullis-ready: {error}")
if answer.status != 200:  # noqa: PLR2004 - OK
    sys.exit(f"portcullis-ready: {answer.status} {told}")
