"""A copy of the evidence of an acceptance without the names of hosts, networks, users, groups and paths.

The copy is sealed anew: the digests of raw output, plans and records are those of the changed texts, so that every
figure can be made again from it. What stands for what is kept at the site, and the same name gets the same one again.
"""

import grp
import gzip
import hashlib
import json
import os
import pwd
import re
import socket
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from seatrial.check.session import contract_digest, contract_of
from seatrial.check.verified import Verified, verified
from seatrial.cli.campaign import FOLDER, PAGE, SESSIONS, protocol_again
from seatrial.cli.evidence import plan_in
from seatrial.job.sequence.recorder import LAUNCH, RAW, records_in
from seatrial.judge.case import judge_case
from seatrial.judge.session import judge_session
from seatrial.model.lines import Chain
from seatrial.model.metric import UNNAMED
from seatrial.model.plan import digest
from seatrial.model.record import PLAN, SAMPLES
from seatrial.report.protocol import Protocol, protocol
from seatrial.site.contract import CONTRACT_FILE

NAMES = 'redaction.json'
"""In the folder of the campaign: what stands for what. It is in no bundle."""

SITE_FILES = (f'site/{CONTRACT_FILE}',)
"""What of the site's own files is in a redacted bundle: the others say where machines are and whom to tell."""

SYSTEM = re.compile(r'/(usr|bin|sbin|lib|lib64|proc|sys|dev|etc)(/|\Z)')
"""Paths that every machine has."""

_HOSTS = {
    'host',
    'hostname',
    'hosts',
    'node',
    'nodes',
    'nodelist',
    'job_nodelist',
    'avoid',
    'writer',
    'reader',
    'servers',
}
_USERS = {'user', 'username'}
_ROOTS = {'path', 'state', 'site'}
_COMMON = {'localhost', 'root', 'nobody', 'nogroup', ''}
"""Names that identify nobody."""

_PATH = re.compile(r'(?:(?<![\w./<*)\]-])|(?<=-[ILBR])|(?<=file://))/[\w.+@%=~-]+(?:/[\w.+@%=~-]*)*')
_NID = re.compile(
    r'(?<![\w.])(?:(?:\d{1,3}\.){3}\d{1,3}(?:@[a-z]\w*)?|\d+@(?:tcp|o2ib|gni|kfi|ptlf)\d*)(?![\w.]*\w)'
    r'|(?<![\w:])[0-9a-fA-F]{1,4}(?::[0-9a-fA-F]{1,4})*::[0-9a-fA-F:]*(?:@[a-z]\w*)?(?![\w:])'
    r'|(?<![\w:])[0-9a-fA-F]{1,4}(?::[0-9a-fA-F]{1,4}){3,7}(?:@[a-z]\w*)?(?![\w:])'
)
_DIGEST = re.compile(r'(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])')
_NAME = re.compile(r'[A-Za-z0-9][\w.-]*')
_OF_ENVIRONMENT = re.compile(r'(?:USER|LOGNAME|USERNAME)=(\S+)')


class Names:
    """What stands for what, by kind, and in whole texts. Names are given in the order in which they are asked for."""

    def __init__(self, given: Mapping[str, Mapping[str, str]]) -> None:
        self.given = {kind: dict(own) for kind, own in given.items()}
        self.digests: dict[str, str] = {}
        self.roots: list[str] = []
        self._words: re.Pattern[str] | None = None

    def name(self, kind: str, original: str) -> str:
        """What stands for it: 'host3'; nothing that is called so itself."""
        own = self.given.setdefault(kind, {})
        if original not in own:
            real = {each for names in self.given.values() for each in names}
            number = len(own) + 1
            while f'{kind}{number}' in real | set(own.values()) | {original}:
                number += 1
            own[original] = f'{kind}{number}'
        return own[original]

    def learn(self, kind: str, originals: Iterable[str]) -> None:
        """These are names wherever they stand as words."""
        for each in sorted(set(originals) - _COMMON):
            self.name(kind, each)
        self._words = None

    def in_text(self, text: str) -> str:
        """The text with every name in it replaced."""
        text = _DIGEST.sub(lambda found: self.digests.get(found[0], found[0]), text)
        for root in self.roots:
            text = re.sub(rf'(?<![\w.]){re.escape(root)}(?![\w.-])', self._root(root), text)
        text = _PATH.sub(lambda found: self._path(found[0]), text)
        text = _NID.sub(lambda found: self.name('nid', found[0]), text)
        return self._known().sub(lambda found: self._word(found[0]), text)

    def in_json(self, value: Any) -> Any:
        """The same in every string of a value, keys too."""
        if isinstance(value, str):
            return self.in_text(value)
        if isinstance(value, list):
            return [self.in_json(each) for each in value]
        if isinstance(value, dict):
            return {self.in_text(key): self.in_json(each) for key, each in value.items()}
        return value

    def _root(self, root: str) -> str:
        return f'/{self.name("path", root)}'

    def _path(self, path: str) -> str:
        bare = path.rstrip('./')
        if not bare or SYSTEM.match(bare) or bare.split('/')[1] in self.given.get('path', {}).values():
            return path
        return self._root(bare) + path[len(bare) :]

    def _known(self) -> re.Pattern[str]:
        if self._words is None:
            words = [each for kind in ('host', 'user', 'group') for each in self.given.get(kind, {})]
            stems = {
                stem for each in self.given.get('host', {}) if (stem := each.rstrip('0123456789')) != each and stem
            }
            own = sorted(map(re.escape, words), key=len, reverse=True)
            ranges = [rf'{re.escape(stem)}\[[0-9,-]+\]' for stem in sorted(stems, key=len, reverse=True)]
            self._words = re.compile(rf'(?<!\w)(?:{"|".join([*ranges, *own]) or "(?!)"})(?!\w)')
        return self._words

    def _word(self, found: str) -> str:
        own = (self.given.get(kind, {}).get(found) for kind in ('host', 'user', 'group'))
        return next(filter(None, own), None) or self.name('host', found)


def redacted(
    files: Sequence[tuple[str, Path]], page: Protocol, state: Path, into: Path
) -> tuple[list[tuple[str, Path]], Protocol]:
    """Write what a redacted bundle has into a folder: its files by their names there, and its protocol.

    page: what the records in the state directory come to, and the copy has to as well. Raises UsageError, OSError.
    UsageError: the records do not verify, which a copy that is sealed anew would hide, or its copy would not.
    """
    kept = [(name, file) for name, file in files if not name.startswith('site/') or name in SITE_FILES]
    names = Names(_given(state / FOLDER / NAMES))
    _learn(names, state, kept)
    proved = {}
    plans = {name: file for name, file in kept if file.name == PLAN}
    for name, file in plans.items():
        found = proved[name] = verified(plan_in(file), file.parent)
        if found.contradictions:
            raise click.UsageError(f'{name}: {found.contradictions[0]}; without --redact the bundle shows it')
    texts = {name: file for name, file in kept if not name.endswith((LAUNCH, PLAN, SAMPLES))}
    for folder in sorted({file.parents[2] for file in plans.values()}):
        _seal(names, folder, into / SESSIONS / folder.name)
    for name, file in texts.items():
        _copied(names, file, into / names.in_text(name))
    for name, found in proved.items():
        copied = verified(plan_in(into / name), (into / name).parent)
        if _what(copied) != _what(found):
            said = next(iter((*copied.contradictions, *copied.unproved)), 'it has other launches')
            raise click.UsageError(
                f'{name} has names that are words of the records too, and cannot be redacted: {said}'
            )
    again = protocol_again(into / 'site', into)[0]
    if again is None or _outcomes(again) != _outcomes(page):
        raise click.UsageError(f'{CONTRACT_FILE} has names that are words of the records too, and cannot be redacted')
    (into / FOLDER / PAGE).write_text(protocol(again), encoding='utf-8')
    _keep(state / FOLDER / NAMES, names)
    return [(file.relative_to(into).as_posix(), file) for file in into.rglob('*') if file.is_file()], again


def _what(found: Verified) -> tuple[int, int, int]:
    return found.launches, len(found.contradictions), len(found.unproved)


def _outcomes(page: Protocol) -> list[tuple[str, tuple[float, ...]]]:
    return [(row.outcome.verdict, row.outcome.figures) for row in page.rows]


def _given(file: Path) -> dict[str, dict[str, str]]:
    """The names of an earlier bundle. Raises UsageError for a file that was damaged."""
    try:
        said: dict[str, dict[str, str]] = json.loads(file.read_text(encoding='utf-8'))
        return {kind: dict(own) for kind, own in said.items()}
    except FileNotFoundError:
        return {}
    except (ValueError, TypeError, AttributeError):
        raise click.UsageError(f'{file} is no list of names; restore it from a backup, or remove it') from None


def _keep(file: Path, names: Names) -> None:
    """Only the user may read it."""
    descriptor, temporary = tempfile.mkstemp(dir=file.parent, prefix=f'.{NAMES}.')  # with the mode 0600
    with os.fdopen(descriptor, 'w', encoding='utf-8') as stream:
        json.dump(names.given, stream, indent=1)
    Path(temporary).replace(file)


def _learn(names: Names, state: Path, files: Sequence[tuple[str, Path]]) -> None:
    """What is to be replaced, from the records, from who owns the files, and from this machine."""
    seen: set[tuple[str, str]] = {('root', str(state)), ('host', socket.gethostname()), ('host', socket.getfqdn())}
    for uid, gid in {(os.getuid(), os.getgid()), *((each.stat().st_uid, each.stat().st_gid) for _, each in files)}:
        with suppress(KeyError):
            seen.add(('user', pwd.getpwuid(uid).pw_name))
        with suppress(KeyError):
            seen.add(('group', grp.getgrgid(gid).gr_name))
    for _, file in files:
        for value in _values(file):
            seen |= set(_names_in(value))
    for kind in ('host', 'user', 'group'):
        own = {name for each, name in seen if each == kind}
        parts = {part for name in own if kind == 'host' and not _NID.fullmatch(name) for part in name.split('.', 1)}
        names.learn(kind, {name for name in own | parts if not _NID.fullmatch(name)})
    roots = {os.path.normpath(name) for kind, name in seen if kind == 'root'} - {'/'}
    names.roots = sorted((each for each in roots if not SYSTEM.match(each)), key=len, reverse=True)


def _names_in(value: Any, key: str = '') -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        for kind, keys in (('host', _HOSTS), ('user', _USERS)):
            if key in keys and _NAME.fullmatch(value) and not value.startswith(UNNAMED):
                yield kind, value
        if key in _ROOTS and value.startswith('/'):
            yield 'root', value
        yield from (('user', found) for found in _OF_ENVIRONMENT.findall(value))
    elif isinstance(value, list):
        for each in value:
            yield from _names_in(each, key)
    elif isinstance(value, dict):
        for name, each in value.items():
            yield from _names_in(each, key if key == 'servers' else name)


def _values(file: Path) -> Iterator[Any]:
    """The JSON of a file, by line where it has lines; nothing of any other."""
    try:
        if file.name.endswith(LAUNCH):
            yield json.loads(gzip.decompress(file.read_bytes()))
        elif file.suffix == '.json':
            yield json.loads(file.read_text(encoding='utf-8'))
        elif file.suffix == '.jsonl':
            for line in file.read_text(encoding='utf-8').splitlines():
                yield json.loads(line)
    except (ValueError, OSError, EOFError):
        return


def _seal(names: Names, folder: Path, into: Path) -> None:
    """The plans, the raw output and the records of a session, with the digests of their new texts."""
    own = {'contract': contract_of(folder)}
    names.digests[contract_digest(own['contract'])] = contract_digest(names.in_json(own)['contract'])
    cases = sorted(file.parent for file in folder.glob(f'cases/*/{PLAN}'))
    for case in cases:
        copy = into / 'cases' / case.name
        (copy / RAW).mkdir(parents=True)
        (copy / PLAN).write_text(json.dumps(names.in_json(json.loads((case / PLAN).read_text())), indent=1) + '\n')
        names.digests[digest(plan_in(case / PLAN))] = digest(plan_in(copy / PLAN))
        for launch in sorted((case / RAW).glob(f'*{LAUNCH}')):
            said = names.in_json(json.loads(gzip.decompress(launch.read_bytes())))
            packed = gzip.compress(json.dumps(said).encode('ascii'), mtime=0)
            (copy / RAW / names.in_text(launch.name)).write_bytes(packed)
            names.digests[_sha256(launch.read_bytes())] = _sha256(packed)
        if (case / SAMPLES).is_file():
            (copy / SAMPLES).write_text(''.join(_relinked(names, case / SAMPLES)), encoding='utf-8')
    chains = [
        _chain(folder.name, [each / PLAN for each in own])
        for own in (cases, [into / 'cases' / each.name for each in cases])
    ]
    names.digests[chains[0]] = chains[1]


def _relinked(names: Names, file: Path) -> Iterator[str]:
    """The lines of a record; one that was cut short has no link and stays without."""
    chain = Chain()
    for line in file.read_text(encoding='utf-8', errors='replace').splitlines(keepends=True):
        try:
            data = json.loads(line)
            old = data.pop('chain')
        except (ValueError, KeyError, AttributeError):
            yield names.in_text(line)
            continue
        yield chain.linked(json.dumps(names.in_json(data), separators=(',', ':')) + '\n')
        names.digests[old] = chain.link


def _chain(session: str, plans: Iterable[Path]) -> str:
    """As `seatrial verify` and the protocol name the records of a session."""
    return judge_session(
        session, '', [judge_case(plan_in(each), records_in(str(each.parent))) for each in plans]
    ).chain


def _copied(names: Names, file: Path, copy: Path) -> None:
    """A text with its names replaced; what is no text is left out, as nobody knows what it says."""
    try:
        text = file.read_text(encoding='utf-8')
    except UnicodeDecodeError:
        return
    if file.suffix == '.md':
        text = text.replace('\\_', '_').replace('\\~', '~')  # an escape would part a name
    copy.parent.mkdir(parents=True, exist_ok=True)
    try:
        own = json.loads(text) if file.suffix == '.json' and file.parent.name != RAW else None
    except ValueError:
        own = None
    text = names.in_text(text) if own is None else json.dumps(names.in_json(own), indent=1) + '\n'
    copy.write_text(text, encoding='utf-8')


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
