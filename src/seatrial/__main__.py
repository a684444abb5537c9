"""`python -m seatrial`: the command, where its script is not on the PATH."""

from seatrial.cli.main import entry

if __name__ == '__main__':
    entry()
