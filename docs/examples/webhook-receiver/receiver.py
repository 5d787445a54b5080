"""A receiver of events about rights: verifies each signature, and takes each event once.

Start it with the secret of the destination in the environment: WEBHOOK_SECRET=whsec_… python receiver.py 9000
"""

import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from standardwebhooks.webhooks import Webhook, WebhookVerificationError

MOST = 1_000_000  # bytes of an event
WEBHOOK = Webhook(os.environ["WEBHOOK_SECRET"])
SEEN: set[str] = set()  # a real receiver stores these ids with the effect of the event, for a week


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        if length > MOST:
            return self.answer(413)
        try:
            # Also refuses a timestamp that is more than five minutes off.
            event = WEBHOOK.verify(self.rfile.read(length), dict(self.headers))
        except WebhookVerificationError:
            return self.answer(401)
        if self.headers["webhook-id"] not in SEEN:
            data = event["data"]
            sys.stdout.write(f"{event['type']} {data.get('userId')} {data.get('roleCode')}\n")
            sys.stdout.flush()
            SEEN.add(self.headers["webhook-id"])
        return self.answer(204)

    def answer(self, status: int) -> None:
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_words: object) -> None:
        """Log no request: its path may have a token."""


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Receiver).serve_forever()
