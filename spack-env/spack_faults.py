"""The benchmark programs in Spack: requested by spack.yaml, pinned by a lock, and installed.

The files are Spack's own: spack.yaml and spack.lock of an environment (lockfile version 6), index.json of an
installation database (version 8), lib/spack/spack/__init__.py of its core and repo.yaml of a package repository.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import Any, NamedTuple

_PART = re.compile(r'(?P<version>@=[\w.-]+)|(?P<flag>[+~])(?P<name>[\w-]+)|(?P<key>[\w-]+)=(?P<value>\S+)')
_CORE = re.compile(r'^__version__ = "(\d+)\.(\d+)[^"]*"', re.M)
_API = re.compile(r'^package_api_version = \((\d+), (\d+)\)', re.M)
_REPOSITORY_API = re.compile(r'^\s*api:\s*v(\d+)\.(\d+)\s*$', re.M)

_MPIS = {'mpich': 'MPICH', 'openmpi': 'Open MPI'}
_INTERFACES = {
    'fio': (('bin/fio', '--enghelp', 'libaio', 'install the headers of libaio (Debian: libaio-dev)'),),
    'ior': (('bin/ior', '-h', 'MPIIO', 'let site.yaml name an MPI with MPI-IO'),),
}
"""By the package: a program, what makes it list its interfaces, one that it must have, and the remedy."""

EXTERNALS = {
    'autoconf': 'bin/autoconf',
    'automake': 'bin/automake',
    'boost': 'include/boost/version.hpp',
    'gmake': 'bin/make',
    'libaio': 'include/libaio.h',
    'libtool': 'bin/libtoolize',
    'm4': 'bin/m4',
    'mpich': 'bin/mpicc',
    'numactl': 'include/numa.h',
    'openmpi': 'bin/mpicc',
    'pkgconf': 'bin/pkg-config',
    'zlib': 'include/zlib.h',
}
"""By the package: a file below its prefix without which nothing can be built with it."""

_SONAMES = {
    'boost': r'libboost_\w+\.so',
    'gcc-runtime': r'lib(gcc_s|stdc\+\+|gfortran|atomic|quadmath|gomp)\.so',
    'glibc': r'(lib(c|m|mvec|pthread|dl|rt)|ld-linux[\w-]*)\.so',
    'libaio': r'libaio\.so',
    'mpich': r'libmpi(ch)?\.so',
    'ncurses': r'lib(ncurses|tinfo)w?\.so',
    'numactl': r'libnuma\.so',
    'openmpi': r'lib(mpi|open-rte|open-pal)\.so',
    'zlib': r'libz\.so',
}
"""By the package: the names of its libraries, of which an external says nothing."""

_NEEDED = re.compile(r'\(NEEDED\).*\[([^]]+)\]')
_PROGRAMS = {'ior': ('bin/ior', 'bin/mdtest'), 'fio': ('bin/fio',), 'elbencho': ('bin/elbencho',)}

_LINKED = {'ior': ('bin/ior', 'bin/mdtest'), 'darshan-runtime': ('lib/libdarshan.so',)}

Version = tuple[int, int]


class Asked(NamedTuple):
    """A program that spack.yaml asks for."""

    name: str
    version: str  # exact
    variants: Mapping[str, bool | str]  # that spack.yaml fixes


def asked(environment: Mapping[str, Any]) -> list[Asked]:
    """The programs of a spack.yaml. Raises ValueError if a version is not exact, or `require` has another one."""
    settings = environment['spack']
    programs = []
    for spec in settings['specs']:
        name, version, variants = _parsed(spec)
        required = settings['packages'].get(name, {}).get('require', ())
        for requirement in [required] if isinstance(required, str) else required:
            _, also, more = _parsed(f'{name}{requirement}')
            if version and also not in ('', version):
                raise ValueError(
                    f'{name}: specs has @={version}, and packages requires @={also}; write the same twice'
                )
            variants = {**variants, **more}
        if not version or not required:
            raise ValueError(f'{name}: its version is not pinned; write {name}@=VERSION in specs and in its require')
        programs.append(Asked(name, version, variants))
    return programs


def faults_of_lock(environment: Mapping[str, Any], lock: Mapping[str, Any], system: str = '') -> list[str]:
    """Sentences on where a lock differs from spack.yaml. system: the host's, as in 'debian12'"""
    specs = lock['concrete_specs']
    roots = {specs[root['hash']]['name']: specs[root['hash']] for root in lock['roots']}
    wanted = asked(environment)
    faults = [fault for program in wanted for fault in _program_faults(program, roots.get(program.name))]
    extra = sorted(set(roots) - {program.name for program in wanted})
    faults += [f'{name} is in the lock, but spack.yaml does not list it' for name in extra]
    foreign = {name for name, entry in environment['spack']['packages'].items() if entry.get('buildable') is False}
    provided = _provided(specs)
    for hash_, spec in specs.items():
        owned = sorted(foreign & {spec['name'], *provided.get(hash_, ())})
        if owned and 'external' not in spec:
            faults.append(f"{_named(spec)} would be built by Spack; {owned[0]} is always the site's, as an external")
    systems = sorted({spec['arch']['platform_os'] for spec in roots.values()})
    if system and systems != [system]:
        faults.append(
            f'the lock was made for {", ".join(systems)}, and this is {system}; a lock is of one system: use its own'
        )
    return faults


def faults_of_installation(
    lock: Mapping[str, Any], database: Mapping[str, Any], programs: Sequence[str] = ()
) -> list[str]:
    """Sentences on where the installation differs from the lock, in version, variants or the hash of the package with
    its source's checksum. Only programs and their run-time dependencies are checked; build dependencies may be
    missing. programs: only these; empty: all"""
    specs, installs = lock['concrete_specs'], database['database']['installs']
    roots = {specs[root['hash']]['name']: root['hash'] for root in lock['roots']}
    faults = [
        f'{name} is not in the lock; it has {", ".join(sorted(roots))}' for name in programs if name not in roots
    ]
    for hash_ in _needed(specs, [roots[name] for name in programs or roots if name in roots]):
        spec, record = specs[hash_], installs.get(hash_)
        if record is None or not record['installed']:
            faults.append(f'{_named(spec)}/{hash_[:7]} is not installed')
            continue
        for key, words in (('version', 'version'), ('parameters', 'variants'), ('package_hash', 'source hash')):
            if record['spec'].get(key) != spec.get(key):
                faults.append(f'{_named(spec)}/{hash_[:7]}: its {words} as installed is not that of the lock')
    return faults


def built_without_mpi(lock: Mapping[str, Any], database: Mapping[str, Any]) -> list[str]:
    """The fault of a darshan-runtime built without MPI although the lock wants it. Its configure takes Spack's
    compiler, and goes on without MPI if that finds no mpi.h. Such a library sees nothing of an MPI program: what it
    preloads into never calls it."""
    for hash_, spec in lock['concrete_specs'].items():
        record = database['database']['installs'].get(hash_)
        if spec['name'] != 'darshan-runtime' or not spec['parameters'].get('mpi') or not record:
            continue
        library = Path(record['path'], 'lib', 'libdarshan.so')
        if library.is_file() and b'MPI_Init' not in library.read_bytes():
            return [
                f'{library} was built without MPI, because its configure found no mpi.h; '
                'site.yaml: packages.darshan-runtime.require: add \'cppflags="-I/folder/of/mpi.h"\'; then --new-lock'
            ]
    return []


def another_mpi(lock: Mapping[str, Any], database: Mapping[str, Any], mpi_of: Callable[[str], str]) -> list[str]:
    """A fault for each program or library linked with another MPI than the lock's. If two are installed, the system's
    compiler wrapper can belong to another one than the external in the lock. mpi_of: the MPI that a program loads, as
    'MPICH 4.0.2', or empty if unknown"""
    faults = []
    for hash_, spec in lock['concrete_specs'].items():
        record = database['database']['installs'].get(hash_)
        providers = [link['name'] for link in spec.get('dependencies', ()) if 'mpi' in link['parameters']['virtuals']]
        if not record or not providers or providers[0] not in _MPIS:
            continue
        for file in (Path(record['path'], part) for part in _LINKED.get(spec['name'], ())):
            library = mpi_of(str(file)) if file.is_file() else ''
            if library and not library.startswith(_MPIS[providers[0]]):
                faults.append(
                    f'{file} is linked with {library}, and the lock says {providers[0]}; make mpicc that of '
                    f'{providers[0]} (Debian: update-alternatives --config mpi) and install into another --prefix'
                )
    return faults


def unable(lock: Mapping[str, Any], database: Mapping[str, Any], output_of: Callable[[str, str], str]) -> list[str]:
    """A fault for each program built without an interface that checks ask for: its configure silently omits
    interfaces without headers. output_of: the output of a program with an option, or empty"""
    faults = []
    for hash_, spec in lock['concrete_specs'].items():
        record = database['database']['installs'].get(hash_)
        for name, option, word, remedy in _INTERFACES.get(spec['name'], ()) if record else ():
            file = Path(record['path'], name)
            listed = output_of(str(file), option) if file.is_file() else ''
            if listed and word not in listed:
                faults.append(f'{file} was built without {word}; {remedy}, and install into another --prefix')
    return faults


def missing_externals(lock: Mapping[str, Any], programs: Sequence[str] = ()) -> list[str]:
    """A fault for each external that these programs are built with and that this host lacks: a configure would
    silently omit what needs it. programs: of the lock; empty: all"""
    specs = lock['concrete_specs']
    roots = [root['hash'] for root in lock['roots'] if not programs or specs[root['hash']]['name'] in programs]
    faults = []
    for spec in (specs[hash_] for hash_ in _needed(specs, roots, {'build', 'link', 'run'})):
        external = spec.get('external') or {}
        compilers = (external.get('extra_attributes') or {}).get('compilers', {})
        absent = [path for path in compilers.values() if not Path(path).is_file()]
        file = EXTERNALS.get(spec['name'])
        if external.get('path') and file and not any(Path(external['path']).glob(file)):
            absent.append(f'{external["path"]}/{file}')
        faults += [
            f'{_named(spec)} is an external, and {path} is not there; install it, or correct its prefix in site.yaml'
            for path in absent
        ]
    return faults


def not_locked(lock: Mapping[str, Any], database: Mapping[str, Any], needed_of: Callable[[str], str]) -> list[str]:
    """A caveat for each program that is linked with libraries of this host which are no dependency of it in the lock:
    they can change while the lock stays the same. needed_of: the output of `readelf -d` for a program, or empty"""
    specs, installs, caveats = lock['concrete_specs'], database['database']['installs'], []
    for hash_, spec in specs.items():
        for part in _PROGRAMS.get(spec['name'], ()) if hash_ in installs else ():
            below = _needed(specs, [hash_], {'build', 'link', 'run'})
            known = [_SONAMES[name] for name in (specs[part_hash]['name'] for part_hash in below) if name in _SONAMES]
            built = [
                installs[part_hash]['path']
                for part_hash in below
                if part_hash in installs and 'external' not in specs[part_hash]
            ]
            file = Path(installs[hash_]['path'], part)
            needed = _NEEDED.findall(needed_of(str(file)))
            foreign = [
                name
                for name in needed
                if not re.match('|'.join(known), name) and not any(Path(path, 'lib', name).exists() for path in built)
            ]
            if foreign:
                caveats.append(
                    f'{file} is linked with {", ".join(foreign)} of this host, which the lock does not pin'
                )
    return caveats


def core_fault(core: str, repository: str, least: Version) -> str:
    """The reason why this Spack cannot be used, or empty. core: text of its lib/spack/spack/__init__.py; repository:
    text of repo.yaml; least: oldest usable core"""
    version, api, wanted = (
        _numbers(pattern, text) for pattern, text in ((_CORE, core), (_API, core), (_REPOSITORY_API, repository))
    )
    if version is None:
        return 'it does not print its version; is it Spack?'
    if version < least:
        return f'it is Spack {_dotted(version)}, and {_dotted(least)} or later is needed'
    if wanted is None:
        return 'the package repository does not tell its package API in repo.yaml'
    if api is None or api[0] != wanted[0] or api < wanted:
        has = f'package API {_dotted(api)}' if api else 'no package API'
        return f'it has {has}, and the package repository needs {_dotted(wanted)}'
    return ''


def _parsed(spec: str) -> tuple[str, str, dict[str, bool | str]]:
    """Name, exact version and variants of a spec in the form that spack.yaml uses here."""
    name = re.match(r'[\w-]*', spec)
    assert name is not None
    version, variants = '', {}
    for part in _PART.finditer(spec, name.end()):
        if part['version']:
            version = part['version'].removeprefix('@=')
        elif part['flag']:
            variants[part['name']] = part['flag'] == '+'
        else:
            variants[part['key']] = part['value']
    return name[0], version, variants


def _program_faults(wanted: Asked, spec: Mapping[str, Any] | None) -> Iterator[str]:
    if spec is None:
        yield f'{wanted.name}@={wanted.version} is not in the lock'
        return
    if spec['version'] != wanted.version:
        yield f'{wanted.name} is {spec["version"]} in the lock, and spack.yaml asks for {wanted.version}'
    for name, value in wanted.variants.items():
        fixed = spec['parameters'].get(name)
        if fixed != value:
            yield f'{wanted.name}: {name} is {fixed} in the lock, and spack.yaml asks for {value}'


def _provided(specs: Mapping[str, Any]) -> dict[str, set[str]]:
    """The virtual packages, such as mpi, that each spec provides."""
    provided: dict[str, set[str]] = {}
    for spec in specs.values():
        for link in spec.get('dependencies', ()):
            provided.setdefault(link['hash'], set()).update(link['parameters']['virtuals'])
    return provided


def _needed(
    specs: Mapping[str, Any], roots: Sequence[str], kinds: Set[str] = frozenset({'link', 'run'})
) -> list[str]:
    """The hashes of roots and of their dependencies of these kinds, once each."""
    needed, rest = dict.fromkeys(roots), list(roots)
    while rest:
        for link in specs[rest.pop()].get('dependencies', ()):
            if kinds & set(link['parameters']['deptypes']) and link['hash'] not in needed:
                needed[link['hash']] = None
                rest.append(link['hash'])
    return list(needed)


def _named(spec: Mapping[str, Any]) -> str:
    return f'{spec["name"]}@{spec["version"]}'


def _numbers(pattern: re.Pattern[str], text: str) -> Version | None:
    match = pattern.search(text)
    return (int(match[1]), int(match[2])) if match else None


def _dotted(version: Version) -> str:
    return '.'.join(map(str, version))
