"""One step of the schema a file. A step that has been released is never edited.

The statements are written out, not made from ``service.records.schema``: that describes today, and a step
must do tomorrow what it did when it was written. A test compares the two.
"""
