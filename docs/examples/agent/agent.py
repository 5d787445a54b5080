"""An agent that lists the roles of the person for whom it acts: python agent.py URL ACCOUNT DELEGATION.

The API key of the agent is read from AGENT_KEY. It needs nothing beyond Python 3.11.
"""

import json
import os
import sys
from base64 import b64encode
from urllib.parse import quote, urlencode
from urllib.request import Request, urlopen


def exchanged(url: str, account: str, key: str, delegation: str) -> str:
    """Return a token for a delegation (RFC 8693); it lives at most 15 minutes."""
    form = {
        "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
        "subject_token": delegation,
        "subject_token_type": "urn:portcullis:token-type:delegation",
    }
    basic = b64encode(f"{quote(account, safe='')}:{quote(key, safe='')}".encode()).decode()
    request = Request(f"{url}/oauth/token", urlencode(form).encode(), {"Authorization": f"Basic {basic}"})
    with urlopen(request) as answer:
        return json.load(answer)["access_token"]


def role_names(url: str, token: str) -> list[str]:
    """Return the names of the roles, read for the person."""
    request = Request(f"{url}/api/role/list", headers={"Authorization": f"Bearer {token}"})
    with urlopen(request) as answer:
        return [role["roleName"] for role in json.load(answer)["data"]["items"]]


if __name__ == "__main__":
    base, name, number = sys.argv[1:]
    print("\n".join(role_names(base, exchanged(base, name, os.environ["AGENT_KEY"], number))))
