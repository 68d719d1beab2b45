"""Forms at a prompt: field by field, errors at their fields, secrets unseen."""

from __future__ import annotations

import asyncio
from pathlib import Path

import hitl_widgets as hitl
from tests.terminal.conftest import Run

ASK = """
    import enum
    from datetime import date
    from typing import Literal
    from pydantic import BaseModel, Field, SecretStr
    import hitl_widgets as hitl

    class Address(BaseModel):
        street: str
        zip: str | None = None

    class Order(BaseModel):
        name: str = Field(description="as on the invoice", min_length=2)
        copies: int = 1
        size: Literal["small", "large"]
        gift: bool
        address: Address

    class Login(BaseModel):
        user: str
        password: SecretStr

    class Leaf(BaseModel):
        value: int

    def ask(kind, message="Please", **options):
        try:
            print("GOT", repr(hitl.ask_sync(kind, message, **options)))
        except hitl.HitlError as e:
            print("RAISED", type(e).__name__)
    """


class TestFields:
    def test_a_model_is_asked_field_by_field(self, run: Run) -> None:
        terminal = run(ASK + "\n    ask(Order, 'What shall we send?')")
        shown = terminal.sees("Name:")
        assert "What shall we send?" in shown
        assert "as on the invoice" in shown
        terminal.types("Ann")
        terminal.sees("Copies (whole number) [1]:")
        terminal.types("")
        shown = terminal.sees("Size (number or name):")
        assert "1  small" in shown
        terminal.types("2")
        terminal.sees("Gift (y/n):")
        terminal.types("y")
        terminal.sees("Street:")
        terminal.types("Main St 1")
        terminal.sees("Zip (optional):")
        terminal.types("")
        expected = (
            "GOT Order(name='Ann', copies=1, size='large', gift=True, "
            "address=Address(street='Main St 1', zip=None))"
        )
        assert expected in terminal.ends()

    def test_only_what_was_refused_is_asked_again_with_its_error(self, run: Run) -> None:
        """R4: the request stays pending and what was typed stays."""
        terminal = run(ASK + "\n    ask(Order)")
        for label, text in (
            ("Name:", "A"),
            ("Copies", "many"),
            ("Size", "3"),
            ("Size", "small"),
            ("Gift", "no"),
            ("Street:", "x"),
            ("Zip", ""),
        ):
            terminal.sees(label)
            terminal.types(text)
        shown = terminal.sees('Name ["A"]:')
        assert "at least 2 characters" in shown
        terminal.types("Ann")
        shown = terminal.sees('Copies (whole number) ["many"]:')
        assert "Should be a whole number" in shown
        terminal.types("2")
        shown = terminal.ends()
        assert "Street" not in shown
        assert "GOT Order(name='Ann', copies=2, size='small', gift=False" in shown

    def test_an_empty_line_answers_nothing_that_is_required(self, run: Run) -> None:
        terminal = run(ASK + "\n    ask(bool, 'Agreed?')")
        terminal.sees("Answer")
        terminal.types("")
        terminal.sees("Nothing was typed")
        terminal.types("maybe")
        terminal.sees("Type y or n.")
        terminal.types("no")
        assert "GOT False" in terminal.ends()

    def test_a_secret_is_not_shown_and_not_even_its_length(self, run: Run, store: Path) -> None:
        terminal = run(ASK + "\n    ask(Login)")
        terminal.sees("User:")
        terminal.types("ann")
        terminal.sees("Password:")
        terminal.types("tr0ub4dor")
        shown = terminal.ends()
        assert "GOT Login(user='ann', password=SecretStr('**********'))" in shown
        assert "tr0ub4dor" not in terminal.seen
        assert "*" not in shown.split("GOT")[0]
        (row,) = hitl.history(store)
        assert row["decision"]["data"] == {"user": "ann", "password": "••••"}

    def test_lists_mappings_and_unions(self, run: Run) -> None:
        terminal = run(ASK + "\n    ask(dict[str, list[Leaf | str]])")
        for label, text in (
            ("a name", "first"),
            ("add one?", "y"),
            ("number or name", "Text"),
            (":", "words"),
            ("add another?", "y"),
            ("number or name", "Leaf"),
            ("Value", "9007199254740993"),
            ("add another?", ""),
            ("a name", ""),
        ):
            terminal.sees(label)
            terminal.types(text)
        assert "GOT {'first': ['words', Leaf(value=9007199254740993)]}" in terminal.ends()

    def test_a_json_schema_without_a_type_takes_json(self, run: Run) -> None:
        terminal = run(ASK + "\n    ask({})")
        terminal.sees("Answer (JSON)")
        terminal.types('{"a": [1, null]}')
        assert "GOT {'a': [1, None]}" in terminal.ends()

    def test_initial_values_stand_in_their_fields(self, run: Run) -> None:
        terminal = run(ASK + "\n    ask(Leaf, initial={'value': 7})")
        terminal.sees("Value (whole number) [7]:")
        terminal.types("")
        assert "GOT Leaf(value=7)" in terminal.ends()


class TestLeaving:
    def test_escape_leads_to_the_menu_and_a_no_declines(self, run: Run) -> None:
        terminal = run(ASK + "\n    ask(Order)")
        terminal.sees("Name:")
        terminal.presses("\x1b")
        shown = terminal.sees("[d]etails")
        assert "[a]nswer" in shown
        assert "[n]o" in shown
        terminal.types("n")
        assert "RAISED Declined" in terminal.ends()

    def test_a_form_that_was_left_goes_on_with_what_was_typed(self, run: Run) -> None:
        terminal = run(ASK + "\n    ask(Login)")
        terminal.sees("User:")
        terminal.types("ann")
        terminal.sees("Password:")
        terminal.presses("\x1b")
        terminal.sees("[d]etails")
        terminal.types("a")
        terminal.sees('User ["ann"]:')
        terminal.types("")
        terminal.sees("Password:")
        terminal.types("x")
        assert "GOT Login(user='ann'" in terminal.ends()

    def test_an_answer_given_elsewhere_ends_the_form(self, run: Run, store: Path) -> None:
        terminal = run(ASK + "\n    ask(Leaf)")
        terminal.sees("Value")
        (request,) = asyncio.run(hitl.pending(store))
        asyncio.run(hitl.decide(request, hitl.Answer({"value": 3}), reviewer="bob"))
        shown = terminal.ends()
        assert "answered by bob" in shown
        assert "GOT Leaf(value=3)" in shown
