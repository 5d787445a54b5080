"""Values of settings that the command line gives, in the place of their variables."""

from typing import Self


class OptionValue(str):  # noqa: SLOT000 - it has an attribute
    """The value of a setting's variable that an option has given; ``option`` is its name, with the dashes."""

    option: str

    def __new__(cls, value: str, option: str) -> Self:
        """Return the value, which is like any other text."""
        given = super().__new__(cls, value)
        given.option = option
        return given
