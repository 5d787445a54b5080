"""Those who call the running service."""

import httpx

from tests.support.seeded import ADMINISTRATOR_PASSWORD

PASSWORD = ADMINISTRATOR_PASSWORD
"""The password of the first administrator, and of every user that the tests make."""


def log_in(client: httpx.Client, user_name: str = "admin", password: str = PASSWORD) -> dict[str, str]:
    """Log in and return the header that carries the access token."""
    answer = client.post("/api/auth/login", json={"userName": user_name, "password": password})
    assert answer.status_code == 200, answer.text
    return {"Authorization": f"Bearer {answer.json()['data']['accessToken']}"}
