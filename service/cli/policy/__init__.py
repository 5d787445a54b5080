"""The commands ``portcullis policy …``. ``reviewing`` opens the policies that a command is asked about."""
