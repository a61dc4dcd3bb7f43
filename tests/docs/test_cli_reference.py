"""The page of commands is what the commands say, and what documents show can be typed."""

import re
import shlex
from pathlib import Path

import pytest
from typer.core import TyperArgument, TyperOption

from colonnade.cli.app import SUMMARIES, load_command
from docs import cli_reference

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def shown_commands():
    """Find every line of a document that calls the program, in code or in running text."""
    for page in PAGES:
        text = page.read_text()
        fenced = re.findall(r"^colonnade (.+)$", text, re.MULTILINE)
        inline = re.findall(r"`colonnade ([^`]+)`", text)
        passed_on = re.findall(r'make run ARGS="([^"]+)"', text)
        for words in (*fenced, *(one for one in inline if " " in one), *passed_on):
            if page != cli_reference.PAGE or "[" not in words:
                yield pytest.param(shlex.split(words), id=f"{page.name}: {words}")


def test_page_of_commands_is_made_from_their_help():
    assert cli_reference.PAGE.read_text() == cli_reference.page(), "run python tests/docs/cli_reference.py"


@pytest.mark.parametrize("name", SUMMARIES)
def test_every_command_and_option_is_on_the_page_and_has_a_help_text(name):
    section = cli_reference.PAGE.read_text().partition(f"## colonnade {name}\n")[2].partition("\n## ")[0]

    for parameter in load_command(name).params:
        assert parameter.help, f"{parameter.name} of {name} has no help text"
        for written in parameter.opts if isinstance(parameter, TyperOption) else [parameter.metavar]:
            assert f"`{written}`" in section


@pytest.mark.parametrize("name", SUMMARIES)
def test_every_command_takes_json(name):
    options = [word for one in load_command(name).params for word in one.opts]

    assert "--json" in options


@pytest.mark.parametrize("name", SUMMARIES)
def test_summary_in_the_list_and_first_line_of_the_help_begin_with_the_same_verb(name):
    assert (load_command(name).help or "").split()[0] == SUMMARIES[name].split()[0]


@pytest.mark.parametrize("words", list(shown_commands()))
def test_command_in_a_document_can_be_typed(words):
    command, rest = load_command(words[0]), words[1:]
    options = {word: one for one in command.params for word in one.opts if isinstance(one, TyperOption)}
    places = [one for one in command.params if isinstance(one, TyperArgument)]

    plain = list(rest)
    while given := next((word for word in plain if word.startswith("-")), None):
        assert given in options
        at = plain.index(given)
        del plain[at : at + (1 if options[given].is_flag else 2)]

    assert len(plain) >= sum(one.required for one in places)
    assert len(plain) <= len(places) or any(one.nargs == -1 for one in places)
