"""What has been done of the first steps in a new installation, by request."""

from tests.support.inside import Inside
from tests.support.seeded import ADMINISTRATOR_PASSWORD

STEPS = "/api/system/first-steps"
NOTHING = {"isNew": True} | dict.fromkeys(("password", "role", "user", "resource", "backup"), False)


async def test_a_new_installation_has_all_steps_before_it_and_each_is_told_once_it_is_taken(
    service: Inside,
) -> None:
    assert await service.data("GET", STEPS) == NOTHING
    await service.data("PATCH", "/api/user/1", {"nickName": "Somebody"})
    assert await service.data("GET", STEPS) == NOTHING

    route = {"resourceName": "R", "resourceCode": "r", "method": "GET", "path": "/api/r"}
    await service.data("POST", "/api/resource", route)
    assert await service.data("GET", STEPS) == NOTHING | {"resource": True}
    await service.data("POST", "/api/role", {"roleCode": "clerk", "roleName": "Clerk"})
    person = {"userName": "wanda", "nickName": "Wanda", "password": "six stubborn otters"}
    await service.data("POST", "/api/user", person)
    passwords = {"currentPassword": ADMINISTRATOR_PASSWORD, "newPassword": "seven stubborn otters"}
    await service.data("PUT", "/api/user/profile/password", passwords)
    service.token = await service.log_in(password=passwords["newPassword"])
    assert await service.data("GET", STEPS) == dict.fromkeys(NOTHING, True) | {"backup": False}

    connection = service.beside()
    connection.execute(
        "INSERT INTO sys.backup (id, snapshot_time, user_name, with_files) VALUES ('b', now(), 'x', true)"
    )
    connection.execute("UPDATE sys.user SET create_time = create_time - interval '8 days'")
    assert await service.data("GET", STEPS) == dict.fromkeys(NOTHING, True) | {"isNew": False}


async def test_a_password_that_an_administrator_sets_is_not_the_first_one_any_more(service: Inside) -> None:
    person = {"userName": "wanda", "nickName": "Wanda", "password": "six stubborn otters"}
    made = await service.data("POST", "/api/user", person)
    await service.data("PUT", f"/api/user/{made['id']}/password", {"newPassword": "seven stubborn otters"})
    rows = service.beside().execute("SELECT user_name, password_time IS NULL FROM sys.user ORDER BY id")
    assert rows.fetchall() == [("admin", True), ("wanda", False)]
