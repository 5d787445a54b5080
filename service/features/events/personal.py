"""Personal data in the tables of events."""

from typing import Final

from service.kernel.personal import Kept

KEPT: Final = (
    Kept(table="rights_event", owner="user_id", kept="`events.days`", plain="kind data"),
    Kept(table="rights_event_new", owner="user_id", kept="Seconds", plain="kind data"),
)
