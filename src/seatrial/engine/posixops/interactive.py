"""posixops, interactive use: everyday work with small files, by Python itself and by programs of the node.

    untar   tarfile extracts an archive from memory: directories and files, with their modes and times
    import  every task reads the tree of the first task as CPython's FileFinder imports a package with all its
            modules: a listing of each directory, then stat, open, fstat and read of each file (importlib,
            _bootstrap_external). On many nodes that is a module storm
    find    lists all names; their types come from the listing, without stat
    du      lstat of all entries
    rm      as `rm -r`: a listing of each directory, unlink of each file, rmdir

On several nodes find and du read a tree of a task of the next node, and rm removes a tree of the node after that.
The programs are git, pip, make and cc, on files that each task makes itself:

git_clone       `git clone --no-local` of a bare repository with one commit: a pack is sent, indexed and checked
                out, as from a server, and no object is linked
git_status      the first `git status` of a clone
venv_create     `python3 -m venv`, with the pip that Python includes
pip_install     `pip install --no-index --no-deps` of a wheel; pip compiles its modules (one a file) to bytecode
package_import  every task starts the interpreter of the first task's environment, and imports all modules of the
                package: a module storm, on many nodes
compile         `make` of a program with a source for each file, all with the same headers; one compiler a task

A task makes all its files in `programs.RANK`, its HOME and temporary files included. On several nodes each step
reads files that were made on the next node. The result of a step is checked after its timed part.
"""

import base64
import hashlib
import importlib.util
import io
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from functools import partial
from typing import Callable, Dict, List, Optional, Tuple

from seatrial.engine.base import EngineError, ended
from seatrial.engine.posixops.tree import owner, share
from seatrial.engine.posixops.work import Data, Part, Spec, Work
from seatrial.model.point import Point
from seatrial.workload.interactive import BUILD, GIT, TREES, VENV, entries_of

NEEDS: Dict[str, Tuple[str, ...]] = {GIT: ('git',), BUILD: ('make', 'cc')}  # beside the interpreter
ROOT = 'programs'
# Prefixes of environment variables that would change the behaviour of a program.
FOREIGN = ('GIT_', 'PIP_', 'PYTHON', 'MAKE', 'MFLAGS', 'XDG_', 'VIRTUAL_ENV')
PACKAGE = 'seatrial_package'
HEADERS = 20
# Random data neither compress nor repeat: git would search for repetitions in vain.
_GIT_CONFIG = '[core] compression = 0\n[pack] window = 0\n[gc] auto = 0\n[fastimport] unpackLimit = 0\n'


def carry_out(work: Work, spec: Spec) -> None:
    _STEPS[spec.phase](work, spec)


def _use_trees(work: Work, spec: Spec) -> None:
    point = spec.point
    packed = _archive(point, work.rank)
    work.together('untar', lambda: unpack(packed))
    work.together('import', lambda: _import('tree.0', point.tree.bytes_per_file))
    made, left = (f'tree.{owner(work, phase)}' for phase in ('stat', 'remove'))
    work.together('find', lambda: 1 + len(entries_in(made)))
    work.together(
        'du', lambda: sum(bool(name.stat(follow_symlinks=False)) for name in entries_in(made)) + bool(os.lstat(made))
    )
    work.together('rm', lambda: remove_tree(left))


def _archive(point: Point, rank: int) -> bytes:
    mine, packed = share(point, 'tree', rank), io.BytesIO()
    data = Data(point.tree.bytes_per_file, len(mine.directories) * len(mine.files))
    with tarfile.open(fileobj=packed, mode='w') as archive:
        for number, directory in enumerate(mine.directories):
            archive.addfile(archive_entry(directory, 0o755, 0, kind=tarfile.DIRTYPE))
            for place, name in enumerate(mine.files):
                entry = archive_entry(directory + name, 0o644, point.tree.bytes_per_file)
                archive.addfile(entry, io.BytesIO(data.of(number * len(mine.files) + place)))
    return packed.getvalue()


def archive_entry(
    name: str, mode: int, size: int, mtime: int = 1000000000, kind: bytes = tarfile.REGTYPE
) -> tarfile.TarInfo:
    """A tar entry owned by the current user; mtime: in Unix time."""
    entry = tarfile.TarInfo(name)
    entry.type, entry.mode, entry.size, entry.mtime = kind, mode, size, mtime
    entry.uid, entry.gid = os.getuid(), os.getgid()
    return entry


def unpack(packed: bytes, directory: str = '.') -> int:
    """Extract a whole archive; returns the number of entries."""
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        # Newer versions of Python warn, or change modes, unless this filter marks the archive as trusted.
        archive.extraction_filter = getattr(tarfile, 'fully_trusted_filter', None)
        archive.extractall(directory, numeric_owner=True)
        return len(archive.getmembers())


def _import(root: str, size: int) -> int:
    number, waiting = 0, [root]
    while waiting:
        directory = waiting.pop()
        for name in os.listdir(directory):
            path = f'{directory}/{name}'
            if not name.startswith('f.'):
                waiting.append(path)
                continue
            os.stat(path)
            with open(path, 'rb') as module:
                length = len(module.read())
            if length != size:
                raise EngineError('T17', f'{path} has {length} B, not {size} B')
            number += 1
    return number


def entries_in(root: str) -> 'List[os.DirEntry[str]]':
    """All entries below a directory, with the types from its listing, without stat. Raises OSError."""
    entries: List['os.DirEntry[str]'] = []
    waiting = [root]
    while waiting:
        with os.scandir(waiting.pop()) as listing:
            here = list(listing)
        entries += here
        waiting += [entry.path for entry in here if entry.is_dir(follow_symlinks=False)]
    return entries


def remove_tree(root: str) -> int:
    """Remove a directory and all below it; returns the number of entries. Raises OSError."""
    number = 1
    with os.scandir(root) as listing:
        here = list(listing)
    for entry in here:
        if entry.is_dir(follow_symlinks=False):
            number += remove_tree(entry.path)
        else:
            os.unlink(entry.path)
            number += 1
    os.rmdir(root)
    return number


def _in_programs(steps: Callable[[Work, Point, str, str], None], work: Work, spec: Spec) -> None:
    phase, point = spec.phase, spec.point
    missing = [name for name in NEEDS.get(phase, ()) if shutil.which(name) is None]
    if missing:
        raise EngineError('E1', f'{missing[0]} is not installed on this node')
    home, neighbour = (os.path.abspath(f'{ROOT}.{rank}') for rank in (work.rank, owner(work, 'stat')))
    work.untimed('begin', None)  # no task writes if one lacks a program
    work.untimed('make the directory', lambda: os.makedirs(f'{home}/tmp'))
    steps(work, point, home, neighbour)
    work.untimed('remove what was made', lambda: remove_tree(f'{ROOT}.{work.rank}'))


def _git(work: Work, point: Point, home: str, neighbour: str) -> None:
    files = len(_names(point))
    work.untimed('make a repository', lambda: _make_repository(home, point))
    clone = ('git', 'clone', '--quiet', '--no-local', f'{neighbour}/repository', 'clone')
    _together(work, 'git_clone', files, home, *clone)
    work.untimed('compare the clone', lambda: _compare(neighbour, point))
    changes = _together(work, 'git_status', files, home, 'git', '-C', f'{neighbour}/clone', 'status', '--porcelain')
    if changes:
        raise EngineError('E1', f'git status finds changes in a clone that nobody changed: {changes[:80].strip()}')


def _make_repository(home: str, point: Point) -> None:
    repository = f'{home}/repository'
    _run(home, 'git', 'init', '--quiet', '--bare', '--template=', repository)
    with open(f'{repository}/config', 'a') as config:
        config.write(_GIT_CONFIG)
    parts = [b'commit refs/heads/main\ncommitter Seatrial <> 1000000000 +0000\ndata 0\n']
    size = point.tree.bytes_per_file
    for name in _names(point):
        parts += [f'M 100644 inline {name}\ndata {size}\n'.encode(), os.urandom(size), b'\n']
    _run(home, 'git', '-C', repository, 'fast-import', '--quiet', feed=b''.join(parts))
    _run(home, 'git', '-C', repository, 'symbolic-ref', 'HEAD', 'refs/heads/main')


def _compare(neighbour: str, point: Point) -> None:
    clone = f'{neighbour}/clone'
    files = (entry for entry in entries_in(clone) if entry.is_file() and not entry.path.startswith(f'{clone}/.git/'))
    meant = {f'{clone}/{name}': point.tree.bytes_per_file for name in _names(point)}
    if {entry.path: entry.stat().st_size for entry in files} != meant:
        raise EngineError('T17', f'{clone} has other files than its repository, or of other sizes')


def _package(work: Work, point: Point, home: str, neighbour: str) -> None:
    python, modules = 'environment/bin/python', len(_names(point))
    total = sum(range(modules))
    pip = ('-I', '-m', 'pip', '--isolated', '--disable-pip-version-check', '--quiet', 'install', '--no-cache-dir')
    wheel = f'{PACKAGE}-1.0-py3-none-any.whl'
    work.untimed('make a wheel', lambda: _make_wheel(f'{home}/{wheel}', point))
    _together(work, 'venv_create', 1, home, sys.executable, '-I', '-m', 'venv', f'{home}/environment')
    installed = ('--no-index', '--no-deps', f'{neighbour}/{wheel}')
    _together(work, 'pip_install', modules, home, f'{home}/{python}', *pip, *installed)
    code = f'from {PACKAGE}.all import TOTAL; print(TOTAL)'
    first = f'{os.path.dirname(home)}/{ROOT}.0/{python}'
    printed = _together(work, 'package_import', modules, home, first, '-I', '-B', '-c', code)
    if printed != f'{total}\n':
        raise EngineError('E1', f"the installed package prints '{printed[:80].strip()}', not {total}")


def _make_wheel(path: str, point: Point) -> None:
    names = _names(point)
    modules = [f'{PACKAGE}.{name.replace("/", ".")}' for name in names]
    forms = (f'VALUE = {number}\nTEXT = "%s"\n' for number in range(len(names)))
    sources = {f'{PACKAGE}/{name}.py': _source(form, point) for name, form in zip(names, forms)}
    folders = {os.path.dirname(name) for name in sources}
    sources.update({f'{folder}/__init__.py': '' for folder in folders | {PACKAGE}})
    imports = [f'import {module}\nTOTAL += {module}.VALUE\n' for module in modules]
    sources[f'{PACKAGE}/all.py'] = ''.join(['TOTAL = 0\n', *imports])
    about = f'{PACKAGE}-1.0.dist-info'
    sources[f'{about}/METADATA'] = f'Metadata-Version: 2.1\nName: {PACKAGE}\nVersion: 1.0\n'
    sources[f'{about}/WHEEL'] = 'Wheel-Version: 1.0\nGenerator: seatrial\nRoot-Is-Purelib: true\nTag: py3-none-any\n'
    record = [f'{name},sha256={_digest(text)},{len(text)}\n' for name, text in sources.items()]
    sources[f'{about}/RECORD'] = ''.join([*record, f'{about}/RECORD,,\n'])
    with zipfile.ZipFile(path, 'w') as wheel:
        for name, text in sources.items():
            wheel.writestr(name, text)


def _digest(text: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip('=')


def _build(work: Work, point: Point, home: str, neighbour: str) -> None:
    total = sum(range(len(_names(point))))
    work.untimed('make the sources', lambda: _make_sources(f'{home}/build', point))
    _together(work, 'compile', len(_names(point)), home, 'make', '-C', f'{home}/build')
    printed = work.untimed('run what was built', lambda: _run(home, f'{neighbour}/build/main'))
    if printed != f'{total}\n':
        raise EngineError('E1', f"the built program prints '{printed[:80].strip()}', not {total}")


def _make_sources(root: str, point: Point) -> None:
    names = _names(point)
    headers = {f'{root}/h{number}.h': f'#define H{number} {number}\n' for number in range(HEADERS)}
    headers[f'{root}/all.h'] = ''.join(f'#include "h{number}.h"\n' for number in range(HEADERS))
    form = '#include "all.h"\nint v{0}(void) {{ return {0} + H0; }}\n/* %s */\n'
    sources = {f'{root}/{name}.c': _source(form.format(number), point) for number, name in enumerate(names)}
    called = [f'int v{number}(void);\n' for number in range(len(names))]
    body = ''.join(f'  total += v{number}();\n' for number in range(len(names)))
    printed = (
        '#include <stdio.h>\n{}int main(void) {{\n  long total = 0;\n{}  printf("%ld\\n", total);\n  return 0;\n}}\n'
    )
    sources[f'{root}/main.c'] = printed.format(''.join(called), body)
    objects = ' '.join(f'{name}.o' for name in (*names, 'main'))
    rules = f'main: {objects}\n\tcc -pipe -o $@ {objects}\n.c.o:\n\tcc -pipe -I. -c -o $@ $<\n'
    for path, text in {**headers, **sources, f'{root}/Makefile': rules}.items():
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w') as stream:
            stream.write(text)


def _source(form: str, point: Point) -> str:
    """A source file of the point's size: `form`, with random digits in place of %s."""
    left = max(0, point.tree.bytes_per_file - len(form) + 2)
    return form % os.urandom((left + 1) // 2).hex()[:left]


def _names(point: Point) -> List[str]:
    """The files of a task, relative to the root of its tree: 'd0/d1/f3'."""
    tree = share(point, ROOT, 0)
    paths = [directory + name for directory in tree.directories for name in tree.files]
    return [path.partition('/')[2].replace('f.0.', 'f') for path in paths]


def _together(work: Work, metric: str, operations: int, home: str, *argv: str) -> str:
    """Run a program, which counts as `operations`, together with all tasks; returns its output. Raises as _run."""
    outputs: List[str] = []

    def act() -> int:
        outputs.append(_run(home, *argv))
        return operations

    work.together(metric, act)
    return outputs[0]


def _run(home: str, *argv: str, feed: bytes = b'') -> str:
    """The output of a program. Raises EngineError with its message if it fails, OSError if it cannot start."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
    environment.update(HOME=home, TMPDIR=f'{home}/tmp', LC_ALL='C', PIP_CONFIG_FILE=os.devnull)
    environment.update(GIT_CONFIG_NOSYSTEM='1', GIT_CONFIG_GLOBAL=os.devnull)
    pipe = subprocess.PIPE
    done = subprocess.run(argv, cwd=home, env=environment, input=feed, stdout=pipe, stderr=pipe, check=False)
    if done.returncode:
        how = ended(done.returncode, [done.stderr.decode('utf-8', 'replace')])
        raise EngineError('E1', f'{os.path.basename(argv[0])} {how[:200]}')
    return done.stdout.decode('utf-8', 'replace')


_STEPS: Dict[str, Callable[[Work, Spec], None]] = {
    TREES: _use_trees,
    GIT: partial(_in_programs, _git),
    VENV: partial(_in_programs, _package),
    BUILD: partial(_in_programs, _build),
}


def _cannot(point: Point) -> Optional[str]:
    why = 'cannot make a virtual environment: Python is without ensurepip here (on Debian: python3-venv)'
    return {VENV: why}.get(point.phases[0]) if importlib.util.find_spec('ensurepip') is None else None


PART = Part(carry_out, entries_of, makes=(rf'(.*/)?{ROOT}\.\d+(/.*)?',), cannot=_cannot, needs=NEEDS)
