"""Click commands and groups of commands that refuse an option given twice."""

from __future__ import annotations

import click


class SingleValueCommand(click.Command):
    """Click command that refuses a second value of an option; click itself would use only the last value."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        given = [] if ctx.resilient_parsing else self.make_parser(ctx).parse_args([*args])[2]
        for parameter in given:
            is_single = isinstance(parameter, click.Option) and not (parameter.multiple or parameter.is_flag)
            if is_single and given.count(parameter) > 1:
                raise click.UsageError(f"{max(parameter.opts, key=len)} can be given only once", ctx)
        return super().parse_args(ctx, args)


class SingleValueGroup(SingleValueCommand, click.Group):
    command_class = SingleValueCommand
