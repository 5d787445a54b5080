"""The texts in which the values of a person are replaced."""

from service.features.personal_data.persons import Person


def test_a_target_keeps_its_kind_also_for_a_name_that_texts_are_not_searched_for() -> None:
    person = Person(7, ("bobby", "al"), ("bobby",))
    texts = ["user:bobby", "by user:bobby", "user:al", "by user:al", "role:bobby"]
    assert person.without(texts) == ["user:#7", "by user:#7", "user:#7", "by user:al", "role:#7"]
