"""The sections of the settings, one file each: a setting is declared in the class of its section."""
