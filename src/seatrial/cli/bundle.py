"""`seatrial bundle`: the evidence of an acceptance as one file or folder."""

from functools import cache
from pathlib import Path

import click

from seatrial.acceptance.bundle import contract_folders, files_of, pack
from seatrial.acceptance.bundle_extracts import extracts
from seatrial.acceptance.campaign import protocol_again
from seatrial.cli.options import PATH, THERE, site_option
from seatrial.model.owned import private_folder
from seatrial.report.terminal import console, say
from seatrial.session.evidence import read_case
from seatrial.site.load import answering


@click.command()
@click.option('--output', type=PATH, required=True, help='File to write, *.zip, or folder, that is not there yet.')
@click.option('--sign', 'key', type=THERE, help='Private key for ssh-keygen -Y sign.')
@site_option
def bundle(site_folder: Path, output: Path, key: Path | None) -> None:
    """Pack the protocol of the contract, the files of the site, and every session that was begun for it.

    Into one file, or into a folder where the output does not end in .zip; index.html is the first page.
    With the SHA-256 of each file, so that `seatrial verify` names what was changed, left out or added.
    """
    site = answering(site_folder)
    read = cache(read_case)
    sessions, unread = contract_folders(Path(site.state), read)
    say(console(), *(f'session {name} is left out: {why}' for name, why in unread.items()))
    if not sessions:
        raise click.UsageError(f'no session in {site.state} was begun for a contract; seatrial accept begins them')
    page, stale = protocol_again(site.folder, Path(site.state), read)
    if stale or page is None:
        raise click.UsageError(f'{stale[0]}; seatrial accept --judge writes it anew')
    files = dict(files_of(site, sessions))
    with private_folder('seatrial-bundle-') as scratch:
        for name, content in extracts(page, Path(site.state), read).items():
            files[name] = file = Path(scratch) / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        pack(output, sorted(files.items()), key)
