"""forbidden_construct: which constructs a profile refuses. How they are found is tested in tests/lean."""

import pytest

from kimina.lean.constructs import CONSTRUCT_NAMES
from kimina.reward.checks.forbidden_construct import Constructs

CODE = {
    "axiom": "axiom c : False",
    "sorry": "sorry",
    "eval": "#eval 1",
    "zero_width": "-- a\u200bb",
    "native_decide": "native_decide",
}


@pytest.mark.parametrize("construct", CODE)
def test_each_construct_can_be_switched(measured, answer, construct):
    output = answer(lean=CODE[construct])
    others_off = {name: False for name in Constructs.model_fields}
    found = measured("forbidden_construct", output, constructs={**others_off, construct: True})
    assert (found["violated"], found["detail"]) == (True, construct)
    assert not measured("forbidden_construct", output, constructs=others_off)["violated"]


def test_every_construct_has_a_switch():
    assert set(Constructs.model_fields) == CONSTRUCT_NAMES | {"zero_width"}


def test_what_the_statement_itself_uses_is_allowed_as_often(measured, answer):
    statement = 'local notation "R" => Bool\ninstance : A R := ⟨f⟩\ntheorem t : True := by sorry'
    lean = statement.replace("by sorry", "trivial")
    every = {name: True for name in Constructs.model_fields}
    assert not measured("forbidden_construct", answer(lean=lean), statement=statement, constructs=every)["violated"]
    more = answer(lean="instance : B R := ⟨g⟩\n" + lean)
    found = measured("forbidden_construct", more, statement=statement, constructs=every)
    assert found["detail"] == "instance"


def test_a_hole_in_the_statement_is_no_licence_for_another(measured, answer):
    statement = "def f : ℕ := sorry\ntheorem t : True := by sorry"
    found = measured("forbidden_construct", answer(lean=statement), statement=statement, constructs={"sorry": True})
    assert found["violated"]


def test_only_the_lean_block_is_searched(measured, answer):
    output = answer(thought="axiom sorry\u200b", tactics=("axiom c : False", "sorry"))
    every = {name: True for name in Constructs.model_fields}
    assert not measured("forbidden_construct", output, constructs=every)["violated"]
