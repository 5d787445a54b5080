"""One step of the schema a file, for databases that exist. A step that has been released is never edited.

The statements are written out, not made from ``service.records.schema``: that describes today, and a step
must do tomorrow what it did when it was written. A test compares the two.

Steps of a feature stand in ``migrations`` of its folder. All steps are one chain, in the order of their
names.

Release 0.2.0 has v0015. The development since then has installations at v0028, v0030 and v0066. The steps
v0065a to v0066, one for each feature, replace those that it had from v0031 to v0066. A start takes all
missing steps in one transaction, so that it leaves no database between v0030 and v0066.

Functions and triggers up to v0066 stand in ``service/records/schema/functions.sql`` alone, which is executed
after the steps of older databases. Later steps write theirs out, with ``CREATE OR REPLACE``.
"""
