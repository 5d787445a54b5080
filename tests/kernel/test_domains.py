from hypothesis import given
from hypothesis import strategies as st

from service.kernel.domains import ascii_domain, plain_address
from service.kernel.text import name_fault, name_key
from tests.support.cases import with_each


@with_each(
    ("spelling", "plain"),
    [
        ("a@xn--mnchen-3ya.example", "a@m\u00fcnchen.example"),
        ("a@XN--MNCHEN-3YA.example", "a@m\u00fcnchen.example"),
        ("a@mail.xn--mnchen-3ya.xn--p1ai", "a@mail.m\u00fcnchen.\u0440\u0444"),
        ("xn--mnchen-3ya", "m\u00fcnchen"),
        ("@xn--mnchen-3ya.ex", "@m\u00fcnchen.ex"),
        ("xn--mnchen-3ya@b.example", "xn--mnchen-3ya@b.example"),  # no domain
        ("a@xn--abc-.example", "a@xn--abc-.example"),  # says nothing but ASCII
        ("a@xn--99999999.example", "a@xn--99999999.example"),
        ("a@notxn--mnchen-3ya.example", "a@notxn--mnchen-3ya.example"),
        ("a@b.example", "a@b.example"),
    ],
)
def test_labels_of_a_domain_are_written_in_unicode(spelling: str, plain: str) -> None:
    assert plain_address(spelling) == plain


@given(st.text(alphabet="aB@.-xn1\u00fc\u00df\uff58\uff0e", max_size=12), st.integers(0, 3))
def test_a_key_is_its_own_key_whatever_the_domain(text: str, at: int) -> None:
    name = f"a@xn--{text}"[at:]
    assert name_key(name_key(name)) == name_key(name)
    assert plain_address(plain_address(name)) == plain_address(name)


def test_two_spellings_of_an_address_are_one_name() -> None:
    assert name_key("A@XN--MNCHEN-3YA.Example") == name_key("a@m\u00fcnchen.example")
    assert name_fault("a@xn--pple-43d.example") == "must not mix letters of scripts that look alike"


@with_each(
    ("domain", "known"),
    [
        ("M\u00fcnchen.example", "xn--mnchen-3ya.example"),
        ("xn--MNCHEN-3ya.example", "xn--mnchen-3ya.example"),
        ("stra\u00dfe.example", "xn--strae-oqa.example"),  # not strasse.example, which is another
        ("Example.COM", "example.com"),
        ("", ""),
    ],
)
def test_a_domain_is_compared_as_the_name_system_has_it(domain: str, known: str) -> None:
    assert ascii_domain(domain) == known
