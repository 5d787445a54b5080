"""Personal data in the tables of events."""

from typing import Final

from service.kernel.personal import Kept

KEPT: Final = (
    Kept(table="rights_event", owner="user_id", kept="`events.days`", plain="kind data"),
    Kept(table="rights_event_new", owner="user_id", kept="Seconds", plain="kind data"),
    Kept(table="rights_event_dead_letter", kept="`events.days`", plain="destination kind reason"),
    Kept(table="rights_event_destination", kept="While it is in the settings", plain="name worker reason"),
)
