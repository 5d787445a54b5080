"""Services are told whose key it is, and no roles: the scopes of the key limit them."""

from msgspec.structs import replace

from service.authz.engine.lines import Lines
from service.authz.engine.rules import Rule
from service.features.decision_log.decision_event import EvaluationEvent, encoded
from service.features.decisions.assertions import Assertions
from service.features.decisions.forwarding import identity_of
from service.features.policy_tests.replay import replay
from service.kernel.assurance import OF_PERSONAL_KEY
from service.kernel.codes import BY_KEY, BoundedCodes, Ceiling
from service.kernel.identity import Caller
from service.settings import Auth
from tests.features.decisions.conftest import BUTTONS
from tests.features.personal_keys.conftest import LIST, key_of
from tests.features.service_accounts.conftest import Workers
from tests.support.members import member, query
from tests.support.unstarted import SHIPPED

BY_OWN_KEY = Caller(
    user_id=7,
    login_id="7",
    user_name="mia",
    nick_name="",
    device="key:3",
    roles=("clerk",),
    held=BoundedCodes(["*"], [Ceiling(BY_KEY, frozenset({LIST}))]),
    issued_at=0.0,
    key_id=3,
    authentication=OF_PERSONAL_KEY,
)
ORDER = "orders:order:read"
READ = "record:record-1:read"
POLICY = SHIPPED.policy(Lines((Rule("permission", ORDER, ORDER),)), {}, 1)
ASKED = {"action": {"name": "read"}, "resource": {"type": "record", "id": "record-1"}}


def test_a_forwarded_request_has_the_name_and_no_roles() -> None:
    assert identity_of(BY_OWN_KEY) == ("mia", "7", "")


def test_an_assertion_has_the_name_and_no_roles() -> None:
    class Recorded:
        def now(self) -> float:
            return 1_000.0

        def signed(self, _kind: str, claims: object) -> str:
            return f"{claims}"

    text = Assertions(Auth(forward_assertion=True), Recorded()).issue("orders", BY_OWN_KEY, "r1")  # type: ignore[arg-type]
    assert "user_name='mia', roles=()" in text


async def test_an_evaluation_of_a_key_names_the_account_and_no_roles(workers: Workers) -> None:
    await query(workers.first, BUTTONS, [READ])
    await workers.first.data("POST", "/api/policy/reload")
    owner = await member(workers.first, "una", READ)
    key = (await key_of(owner, READ))["key"]
    order = ASKED | {"subject": {"type": "token", "id": key}}
    answer = await workers.first.ask("POST", "/access/v1/evaluation", order)
    subject = answer.json["context"]["subject"]
    assert (subject["name"], subject["roles"]) == ("una", [])


def test_a_replayed_question_is_asked_of_the_scopes_too() -> None:
    event = EvaluationEvent(
        time="2026-11-22T02:48:43.956Z",
        outcome="deny",
        reason="not_held",
        decision="",
        revision=1,
        own_digest="9be1a6f0",
        request_id="r",
        asked_by=7,
        subject_type="token",
        codes=frozenset({ORDER}),
        ceilings=(Ceiling(BY_KEY, frozenset({LIST})),),
        layer="permission",
        object=ORDER,
        required=(ORDER,),
    )
    assert replay(POLICY, [encoded(event) + b"\n"]).differing == 0
    # Without the scopes the question would be allowed.
    wider = replace(event, ceilings=())
    assert replay(POLICY, [encoded(wider) + b"\n"]).differing == 1
