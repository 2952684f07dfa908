"""Groups of commands, and how each command tells what it takes."""

from collections.abc import Callable
from typing import Any, TypeVar

import typer
from typer.core import TyperArgument, TyperCommand

F = TypeVar("F", bound=Callable[..., Any])


_KINDS = {
    "Input should be a valid integer": "must be a whole number",
    "Input should be a valid number": "must be a number",
}
_RULES = {
    "Input should be greater than or equal to ": "must be at least ",
    "Input should be less than or equal to ": "must be at most ",
    "Value error, ": "",
}
"""By how the words of pydantic begin, which are for programmers."""


class Command(TyperCommand):
    """Arguments stand by their names alone: typer puts them in braces, and adds of which type they are."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter as error:
            error.message = _plain(error.message)
            raise

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return [piece.replace("{", "").replace("}", "") for piece in super().collect_usage_pieces(ctx)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        arguments: list[tuple[str, str]] = []
        options: list[tuple[str, str]] = []
        for parameter in self.get_params(ctx):
            shown = parameter.get_help_record(ctx)
            if shown is None:
                continue
            if isinstance(parameter, TyperArgument):
                arguments.append((parameter.metavar or shown[0], shown[1]))
            else:
                options.append(shown)
        for title, rows in (("Arguments", arguments), ("Options", options)):
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


class Commands(typer.Typer):
    """Called without any of them it shows its help."""

    def __init__(self, text: str, **settings: Any) -> None:
        super().__init__(help=text, no_args_is_help=True, rich_markup_mode=None, **settings)

    def command(self, name: str | None = None, **settings: Any) -> Callable[[F], F]:
        return super().command(name, cls=Command, **settings)


def _plain(said: str) -> str:
    for beginning, kind in _KINDS.items():
        if said.startswith(beginning):
            return kind
    for beginning, rule in _RULES.items():
        if said.startswith(beginning):
            return rule + said.removeprefix(beginning)
    return said
