"""What an account's event stream reports, read without a service."""

from unittest.mock import AsyncMock

from service.features.event_stream.account import AccountReader


async def test_no_events_are_read_once_the_last_stream_has_ended() -> None:
    events = AsyncMock()
    reader = AccountReader(AsyncMock(read=AsyncMock(return_value={})), AsyncMock(), events)
    assert await reader.read({}, None) == {}
    events.after.assert_not_awaited()
