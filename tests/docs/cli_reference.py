"""Makes `docs/reference/cli.md` from the commands' own help; run it to write the page again."""

from __future__ import annotations

from pathlib import Path

from typer.core import TyperArgument, TyperCommand, TyperOption

from colonnade.cli.app import SUMMARIES, load_command

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "cli.md"
HEAD = """# The command line

Made from the help texts of the commands (`python tests/docs/cli_reference.py`).

On a terminal, results are drawn and long work shows progress. A pipe gets CSV, and `--json` gives JSON.
An error is one line on standard error, `error: …`.

| exit status | meaning |
| --- | --- |
| 0 | done |
| 1 | failed |
| 2 | wrong usage |
| 3 | nothing to do: no rows, no tables |
| 130 | interrupted with Ctrl-C |
| 141 | whoever read the output went away |
"""


def page() -> str:
    """Give the whole page."""
    return "\n".join([HEAD, *(section(name) for name in SUMMARIES)])


def section(name: str) -> str:
    """Give the part of one command."""
    command = load_command(name)
    return "\n".join(
        [f"## colonnade {name}\n", *paragraphs(command), usage(name, command), "", *table(command), ""]
    )


def paragraphs(command: TyperCommand) -> list[str]:
    """Give the help text; an example becomes code."""
    texts = [" ".join(text.split()) for text in (command.help or "").split("\n\n")]
    return [
        f"```\n{text.removeprefix('Example: ')}\n```\n" if text.startswith("Example: ") else f"{text}\n"
        for text in texts
    ]


def usage(name: str, command: TyperCommand) -> str:
    """Give the line that says what stands where."""
    arguments = [argument(one) for one in command.params if isinstance(one, TyperArgument)]
    return f"Usage: `{' '.join(['colonnade', name, *arguments, '[OPTIONS]'])}`"


def argument(parameter: TyperArgument) -> str:
    """Give an argument as usage lines have it: in brackets where it may be left out."""
    name = f"{parameter.metavar}..." if parameter.nargs == -1 else str(parameter.metavar)
    return name if parameter.required else f"[{name}]"


def table(command: TyperCommand) -> list[str]:
    """List arguments and options, each with its help and default."""
    rows = [f"| {names(one)} | {text(one)} |" for one in command.params]
    return ["| | |", "| --- | --- |", *rows]


def names(parameter: TyperArgument | TyperOption) -> str:
    """Give how a parameter is written."""
    if isinstance(parameter, TyperArgument):
        return f"`{parameter.metavar}`"
    written = ", ".join(f"`{one}`" for one in parameter.opts)
    choices = getattr(parameter.type_descriptor.annotation, "__args__", ())
    value = parameter.metavar or (
        "" if parameter.is_flag else "|".join(one for one in choices if isinstance(one, str))
    )
    return f"{written} `{value}`".replace("|", "\\|") if value else written


def text(parameter: TyperArgument | TyperOption) -> str:
    """Give what a parameter does, and what holds without it."""
    help_text = " ".join((parameter.help or "").replace("[[", "[").split())
    default = parameter.show_default if isinstance(parameter.show_default, str) else None
    if default is None and parameter.show_default and parameter.default not in (None, False):
        default = str(parameter.default)
    return f"{help_text} Default: {default}." if default else help_text


if __name__ == "__main__":
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page())
