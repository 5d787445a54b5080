"""Users of a test's database, and changes made to them behind the service's back."""

from sqlalchemy import text

from service.authn.opening import Origin
from service.authn.proving import PasswordProof
from service.authn.token_issuer import TokenPair
from tests.authn.conftest import Container
from tests.support.seeded import ADMINISTRATOR, ADMINISTRATOR_PASSWORD

USER_AGENT = "Mozilla/5.0 (X11; Linux x86_64; rv:109.0) Gecko/20100101 Firefox/115.0"


async def execute(parts: Container, statement: str, **values: object) -> None:
    async with parts.database.transaction() as connection:
        await connection.execute(text(statement), values)


async def log_in(
    parts: Container,
    device: str | None = "web",
    password: str = ADMINISTRATOR_PASSWORD,
    *,
    user_name: str = ADMINISTRATOR,
    user_agent: str = USER_AGENT,
) -> TokenPair:
    proof = PasswordProof(parts.database, parts.passwords, parts.initial, user_name, password)
    return await parts.opening.open(proof, Origin.of(device, "10.0.0.1", user_agent))
