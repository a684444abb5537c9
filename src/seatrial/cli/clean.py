"""`seatrial clean`"""

import click


@click.command()
def clean() -> None:
    """x"""
