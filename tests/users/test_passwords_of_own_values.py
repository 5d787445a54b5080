"""A password is not made of what is known of its user, wherever it is set."""

from tests.support.inside import Inside
from tests.support.without import is_served
from tests.users.people import HERON, PASSWORD, made
from tests.web.driver import Answer

PHONE = "+49 30 7391846"
REASON = (
    "must not consist of your name, address or phone number, or words of this service or your organization"
)


def refused(answer: Answer, field: str) -> bool:
    """Whether the request was refused for the password alone, whose text is not repeated."""
    return (
        answer.status == 422
        and [(error["field"], error["message"]) for error in answer.json["errors"]] == [(field, REASON)]
        and PHONE not in answer.body.decode()
    )


async def test_the_own_phone_number_is_no_password_of_a_new_user(house: Inside) -> None:
    heron = HERON | {"password": PHONE, "phone": PHONE}

    assert refused(await house.ask("POST", "/api/user", heron), "password")
    if not is_served("POST /api/user/import"):
        return
    imported = await house.ask("POST", "/api/user/import", {"users": [heron]})
    assert [(error["field"], error["message"]) for error in imported.json["errors"]] == [("password", REASON)]


async def test_nor_can_a_user_or_an_administrator_set_it_later(house: Inside) -> None:
    heron = await made(house, phone=PHONE)
    token = await house.log_in("heron", PASSWORD)

    own = {"currentPassword": PASSWORD, "newPassword": PHONE}
    assert refused(await house.ask("PUT", "/api/user/profile/password", own, token=token), "newPassword")
    reset = await house.ask("PUT", f"/api/user/{heron['id']}/password", {"newPassword": PHONE})
    assert refused(reset, "newPassword")
