"""A stand-in for lfs 2.17: it replays genuine outputs (tests/transcripts/lustre), and refuses as a real one does.

The options that a command takes are read from its genuine usage text. What files and directories get is reckoned as
the servers do it, and shown in the genuine form. A valid command that no transcript shows is NOT_PLAYED: a test that
comes there is about nothing real, and what it asked is added to the file beside the JSON that ends in .unplayed.
A command returns what it prints, or raises a Refusal, or an AssertionError for what is not played: so a test may ask
it in its own process (lustre_stand.py).

What it passes for lies in a JSON file, which it also writes:

    mount               the directory where it is "mounted"
    version             whose forms it prints, where those before 2.17 are others (by the sources of 2.12 to 2.16)
    osts, mdts          how many there are; pools: {name: [OST index, ...]}
    full                OSTs without room; away: OSTs that do not answer; inactive: OSTs that the client does not use
    flash               OSTs on flash, which lfs df tells with -v alone
    project             [number, limit in KiB] of the project of its files, or [0, 0]
    root                whether the user is root; dom_limit: the most bytes that an MDT takes of a file
    lacks               options that this version does not have yet
    default             options of lfs setstripe for the layout of the root directory
    df, check, quota    the transcripts that are replayed for these commands (df: without -i; check: of OSTs)
    restricted          whether setstripe is restricted to a group: it then removes what it was to be set on
    directories, files  what was set on which path, and what each file got; shards: the MDTs of each directory
    defaults            of new directories, by the directory they are made in; spread: whether the root's spreads them
    retired             OSTs on which the MDS makes no objects, of which no client is told
    next                counts the files, and with them where the next one begins
    forms               [[regular expression, replacement], ...] that make what is printed that of another release
"""

import contextlib
import fcntl
import functools
import json
import os
import re
import sys
import time

from transcript import lustre_step

NOT_PLAYED, BLOCKS = 99, None
USAGE, INVALID, NO_DEVICE, NOT_PERMITTED = 4, 22, 19, 1
GENUINE_MOUNT = '/mnt/lustre'
INSTANCE = 'ffff888105ab7000'
# The transcripts of the usage texts of lfs, and of lctl.
HELP = {'setstripe': '600', 'getstripe': '601', 'mkdir': '602', 'df': '603', 'check': '604', 'pool_list': '605'}
HELP.update(quota='606', osts='608', mdts='608', setdirstripe='610', getdirstripe='611')
HELP.update(get_param='614', set_param='615')


class Refusal(Exception):
    """It ends with a status, having said something."""

    def __init__(self, status, stderr='', stdout=''):
        super().__init__(status)
        self.status, self.stderr, self.stdout = status, stderr, stdout


def load(told_file):
    with open(told_file) as stream:
        return json.load(stream)


@contextlib.contextmanager
def alone(told_file):
    """One that changes the file at a time: what it keeps would be undone by one that had read it before."""
    with open(f'{told_file}.lock', 'w') as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def keep(state, told_file):
    """Whoever asks at the same time reads the old file or the new one."""
    with open(f'{told_file}.{os.getpid()}', 'w') as stream:
        json.dump(state, stream)
    os.replace(f'{told_file}.{os.getpid()}', told_file)


def main(play, arguments, told_file):
    """The program: it says what was played, and stays where a genuine one blocked."""
    played = play(arguments, told_file)
    sys.stdout.write(played.stdout)
    sys.stderr.write(played.stderr)
    if played.status is BLOCKS:
        sys.stdout.flush()
        time.sleep(3600)
    return played.status


def played_by(program, commands, changing, arguments, told_file):
    """The end of a command line of a program, as a Refusal; the commands `changing` keep what they did."""
    with open(f'{told_file}.log', 'a') as stream:
        stream.write(json.dumps([program, *arguments]) + '\n')
    command = arguments[0] if arguments else ''
    with alone(told_file) if command in changing else contextlib.nullcontext():
        state = load(told_file)
        # The next file of that name is another one.
        state['files'] = {path: layout for path, layout in state['files'].items() if os.path.exists(path)}
        try:
            assert command in commands
            played = Refusal(0, stdout=commands[command](arguments[1:], state))
        except Refusal as refusal:
            played = refusal
        except AssertionError:
            played = Refusal(NOT_PLAYED, f'{program} {arguments} is not played\n')
        for genuine, other in state.get('forms', ()):
            played.stdout = re.sub(genuine, other, played.stdout)
        if command in changing:
            keep(state, told_file)
    if played.status == NOT_PLAYED:
        with open(f'{told_file}.unplayed', 'a') as stream:
            stream.write(played.stderr)
    return played


def usage_of(command, state):
    """The genuine usage text, without what this version does not have yet."""
    text = lustre_step(HELP[command]).stderr
    for option in state['lacks']:
        text = re.sub(rf'\[[^][]*{re.escape(option)}[^][]*\]', '', text)
    return text


def grammar(usage):
    """The options of a usage text: name -> 'none', 'required' or 'optional' value."""
    options = {}
    group = r'(?<![\w-])(-{1,2}[A-Za-z][\w-]*(?:\|-{1,2}[A-Za-z][\w-]*)*)\}?(\[|=| (?=[A-Za-z<(]))?'
    for names, value in re.findall(group, usage):
        for name in names.split('|'):
            options.setdefault(name, {'[': 'optional', '': 'none'}.get(value, 'required'))
    return options


def parse(command, arguments, state):
    """The options in their order as (name, value), and the operands. What the usage text lacks is refused."""
    known = grammar(usage_of(command, state))
    if command == 'df':
        known['-v'] = 'none'  # its usage text does not name it (transcripts 310, 311)
    options, operands, words = [], [], list(arguments)
    while words:
        word = words.pop(0)
        name, value = word[:2], word[2:] or None
        if not word.startswith('-'):
            operands.append(word)
        elif name not in known:
            usage = usage_of(command, state).partition(f'{command}: ')[2]
            raise Refusal(USAGE, f"lfs: unrecognized option '{word}'\n", usage)
        else:
            options.append((name, value or (words.pop(0) if known[name] == 'required' else None)))
    return options, operands


def size_of(text):
    number, unit = re.fullmatch(r'(\d+)([kKmMgGtT]?)', text).groups()
    size = int(number) << {'': 0, 'k': 10, 'm': 20, 'g': 30, 't': 40}[unit.lower()]
    return size * 1024 if size < 4096 else size  # lfs: values below 4096 are in KiB


def inside(state, path):
    path, mount = os.path.realpath(path), os.path.realpath(state['mount'])
    return path == mount or path.startswith(mount + os.sep)


OF_A_PIECE = {
    '-c': ('count', int),
    '-C': ('count', int),
    '-S': ('size', size_of),
    '-i': ('start', int),
    '-o': ('osts', lambda osts: [int(ost) for ost in osts.split(',')]),
    '-p': ('pool', str),
}


def wish_of(options, state):
    """The pieces and mirrors that a command line of setstripe asks for. A pool that is not there is refused."""
    pieces, mirrors = [{}], 1
    for name, value in options:
        if name == '-N':
            mirrors = int(value or 1)
        elif name == '-E':
            if 'end' in pieces[-1]:
                pieces.append({key: pieces[-1][key] for key in ('count', 'size', 'pool') if key in pieces[-1]})
            pieces[-1]['end'] = -1 if value == '-1' else size_of(value)
        elif name == '-L':
            pieces[-1]['mdt'] = True
        else:
            if name == '-p' and value not in state['pools']:
                words = f"lfs setstripe: pool '{value} fsname lustre' does not exist: No such file or directory (2)\n"
                raise Refusal(INVALID, words)
            assert name in OF_A_PIECE
            key, read = OF_A_PIECE[name]
            pieces[-1].update({key: read(value)}, **({'over': True} if name == '-C' else {}))
    return {'pieces': pieces, 'mirrors': mirrors}


def setstripe(arguments, state):
    options, (path,) = parse('setstripe', arguments, state)
    wish = wish_of(options, state)
    if state.get('restricted') and os.path.isdir(path):
        os.rmdir(path)
        raise Refusal(2, f"lfs setstripe: unable to open '{path}': No such file or directory (2)\n")
    if not os.path.isdir(path):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644))
    named = [ost for piece in wish['pieces'] for ost in piece.get('osts', [piece.get('start', 0)])]
    pinned = {ost for piece in wish['pieces'] for ost in piece.get('osts', ())}
    retired = os.path.isfile(path) and pinned & set(state['retired'])  # lod_alloc_ost_list in lod_qos.c
    if retired or any(ost >= state['osts'] for ost in named):  # what it has made by then stays
        raise Refusal(INVALID, f"lfs setstripe: setstripe error for '{path}': Invalid argument\n")
    if os.path.isdir(path):
        state['directories'][os.path.realpath(path)] = wish
    else:
        state['files'][os.path.realpath(path)] = allocate(wish, 0, state)
    return ''


def allocate(wish, size, state):
    """The layout that the servers give a file of this size."""
    pieces = []
    for mirror in range(wish['mirrors']):
        start = 0
        for asked in wish['pieces']:
            end = asked.get('end', -1)
            if asked.get('mdt'):
                end = min(end, state['dom_limit'])
                pieces.append({'start': 0, 'end': end, 'mirror': mirror, 'mdt': True, 'size': end})
            else:
                reached = start == 0 or size > start
                piece = {'start': start, 'end': end, 'mirror': mirror, 'size': asked.get('size') or 4 << 20}
                others = {ost for piece in pieces for ost in piece.get('osts', ())}
                piece.update(count_and_osts(asked, reached, state, others), pool=asked.get('pool'), init=reached)
                pieces.append(piece)
            start = end
    return {'pieces': pieces, 'composite': bool(wish['pieces'][0].get('end')) or wish['mirrors'] > 1}


def count_and_osts(asked, reached, state, others):
    """others: the OSTs of the components before, left out of all where three quarters remain (lod_ost_alloc_rr).

    Where the first one is named, lod_ost_alloc_specific takes all that there are.
    """
    if asked.get('osts'):
        return {'count': len(asked['osts']), 'osts': asked['osts'] if reached else []}
    usable = state['pools'][asked['pool']] if asked.get('pool') else list(range(state['osts']))
    usable = [ost for ost in usable if ost not in (*state['full'], *state['retired'])]
    if not reached:
        return {'count': asked.get('count') or 1, 'osts': []}
    wanted = asked.get('count') or 1
    start = asked.get('start', -1)
    free = [ost for ost in usable if ost not in others]
    usable = free if (wanted, start) == (-1, -1) and len(free) >= len(usable) - len(usable) // 4 else usable
    count = len(usable) if wanted == -1 else wanted if asked.get('over') else min(wanted, len(usable))
    first = usable.index(start) if start in usable else state['next'] % len(usable)
    state['next'] += 1
    return {'count': count, 'osts': [usable[(first + place) % len(usable)] for place in range(count)]}


def default_wish(path, state):
    """The layout of the nearest directory that has one; the root's own otherwise."""
    while inside(state, path):
        layout = state['directories'].get(os.path.realpath(path))
        if layout is not None:
            return layout
        path = os.path.dirname(os.path.realpath(path))
    return wish_of([tuple(option) for option in state['default']], state) if state['default'] else None


def getstripe(arguments, state):
    options, (path,) = parse('getstripe', arguments, state)
    names = {name for name, _ in options}
    assert names in ({'-y'}, {'-y', '-d'}) and os.path.isdir(path) == ('-d' in names)
    if not os.path.exists(path):
        raise Refusal(2, f"lfs: getstripe for '{path}' failed: No such file or directory\n")
    if '-d' in names:
        return shown_default(default_wish(path, state))
    key = os.path.realpath(path)
    if key not in state['files']:
        wish = default_wish(os.path.dirname(key), state) or {'pieces': [{}], 'mirrors': 1}
        state['files'][key] = allocate(wish, os.path.getsize(path), state)
    return shown(state['files'][key], 'stripe_offset' if before_217(state) else 'mdt_index')


def shown_default(wish):
    if wish is None:
        return 'stripe_count:  1\nstripe_size:   4194304\npattern:       0\nstripe_offset: -1\n'
    assert len(wish['pieces']) == wish['mirrors'] == 1, 'a default with components is not played'
    piece = wish['pieces'][0]
    lines = [f'stripe_count:  {piece.get("count", 1)}', f'stripe_size:   {piece.get("size", 4194304)}']
    lines += ['pattern:       raid0', f'stripe_offset: {piece.get("start", -1)}']
    lines += [f'pool:          {piece["pool"]}'] if piece.get('pool') else []
    return '\n'.join(lines) + '\n'


def shown(layout, on_mdt='mdt_index'):
    """As lfs getstripe -y shows it (transcripts 039, 043, 047, 052, 054).

    on_mdt: what says where a piece on the MDT lies; stripe_offset up to 2.16 (lov_dump_user_lmm_header)
    """
    if not layout['composite']:
        return shown_piece(layout['pieces'][0], '', '      ', on_mdt)
    mirrors = max(piece['mirror'] for piece in layout['pieces']) + 1
    text = f'lcm_layout_gen:    3\nlcm_mirror_count:  {mirrors}\n'
    text += f'lcm_entry_count:   {len(layout["pieces"])}\ncomponents:\n'
    for place, piece in enumerate(layout['pieces']):
        mirror = piece['mirror'] + 1 if mirrors > 1 else 0
        end = 'EOF' if piece['end'] == -1 else piece['end']
        text += f'  - lcme_id:             {(mirror << 16) + place + 1}\n    lcme_mirror_id:      {mirror}\n'
        text += f'    lcme_flags:          {"init" if piece.get("mdt") or piece["osts"] else 0}\n'
        text += f'    lcme_extent.e_start: {piece["start"]}\n    lcme_extent.e_end:   {end}\n    sub_layout:\n'
        text += shown_piece(piece, '      ', '      ', on_mdt)
    return text


def shown_piece(piece, indent, dash, on_mdt):
    pattern = 'mdt' if piece.get('mdt') else 'raid0'
    osts = piece.get('osts', [])
    if len(set(osts)) < len(osts):
        pattern += ',overstriped'
    lines = [f'lmm_stripe_count:  {piece.get("count", 0)}', f'lmm_stripe_size:   {piece["size"]}']
    lines += [f'lmm_pattern:       {pattern}', 'lmm_layout_gen:    0']
    where = on_mdt if piece.get('mdt') else 'stripe_offset'
    lines += [f'{f"lmm_{where}:":<18} {0 if piece.get("mdt") else osts[0] if osts else -1}']
    lines += [f'lmm_pool:          {piece["pool"]}'] if piece.get('pool') else []
    lines += ['lmm_objects:'] if osts else []
    text = ''.join(f'{indent}{line}\n' for line in lines)
    for ost in osts:
        text += f'{dash}- l_ost_idx: {ost}\n{dash}  l_fid:     0x{0x280 + 0x40 * ost:x}000401:0x{ost + 2:x}:0x0\n'
    return text


def mkdir(arguments, state):
    options, operands = parse('mkdir', arguments, state)
    known = {'-c': 'count', '-i': 'first'}
    assert all(name in known for name, _ in options) and len(operands) == 1
    wish, path = {known[name]: int(value) for name, value in options}, operands[0]
    errors = "lfs mkdir: dirstripe error on '{0}': {1}\nlfs setdirstripe: cannot create dir '{0}': {1}\n"
    if not state['root']:
        raise Refusal(NOT_PERMITTED, errors.format(path, 'Operation not permitted'))
    if wish.get('first', 0) >= state['mdts']:
        raise Refusal(NO_DEVICE, errors.format(path, 'No such device'))
    os.mkdir(path)
    wanted = wish.get('count', 1)
    count = state['mdts'] if wanted == -1 else min(wanted, state['mdts'])
    state['shards'][os.path.realpath(path)] = [count if wanted != 1 else 0, wish.get('first', 0)]
    return ''


def setdirstripe(arguments, state):
    """Of an existing directory's default alone (transcript 063)."""
    options, operands = parse('setdirstripe', arguments, state)
    known = {'-c': 'count', '-i': 'first', '-X': 'levels'}
    assert ('-D', None) in options and len(operands) == 1 and all(name in ('-D', *known) for name, _ in options)
    wish = {known[name]: int(value) for name, value in options if name != '-D'}
    striped = wish.get('count', 1) != 1
    wish.setdefault('levels', 3 if striped else -1)
    state['defaults'][os.path.realpath(operands[0])] = wish
    if striped and wish['levels'] == -1:  # it says so and does it (lfs.c)
        words = f'unrecommended max-inherit=-1 when default stripe-count={wish["count"]}'
        raise Refusal(0, f'lfs setdirstripe: {words}\n')
    return ''


def lies_on(path, state):
    """The count of shards and the first MDT of a directory: its own, or what the nearest one above it hands down."""
    mount, levels = os.path.realpath(state['mount']), 0
    start = path
    while path not in state['shards'] and path != mount:
        path, levels = os.path.dirname(path), levels + 1
        default = state['defaults'].get(path)
        if default is not None and (default['levels'] == -1 or levels <= default['levels']):
            wanted = default.get('count', 1)
            count = state['mdts'] if wanted == -1 else min(wanted, state['mdts'])
            return [0 if wanted == 1 else count, default.get('first', 0)]
    count, first = state['shards'].get(path, [0, 0])
    if levels and state.get('spread'):  # the default of the root: -i -1, with -X above the depth
        return [0, (first + 1) % state['mdts']]
    return [count if path == start else 0, first]  # what mkdir(2) makes lies on the MDT of its parent


def getdirstripe(arguments, state):
    options, operands = parse('getdirstripe', arguments, state)
    if options == [('-D', None)] and len(operands) == 1 and inside(state, operands[0]):
        return shown_directory_default(os.path.realpath(operands[0]), state)
    assert not options and len(operands) == 1
    count, first = lies_on(os.path.realpath(operands[0]), state)
    kind = 'fnv_1a_64' if count else 'none'
    text = f'lmv_stripe_count: {count} lmv_stripe_offset: {first} lmv_hash_type: {kind}\n'
    text += 'mdtidx\t\t FID[seq:oid:ver]\n' if count else ''
    for place in range(count):
        mdt = (first + place) % state['mdts']
        text += f'{mdt:6}\t\t [0x{0x200 + 0x40 * mdt:x}000400:0x4:0x0]\t\t\n'
    return text


def shown_directory_default(path, state):
    """As transcript 063 shows a directory's own; what has none shows the root's (066)."""
    default = state['defaults'].get(path)
    if default is None:
        return re.search(r'^lmv_.*max_inherit_rr.*\n', lustre_step('066').stdout, re.MULTILINE).group(0)
    count, first, levels = default.get('count', 1), default.get('first', -1), default['levels']
    where = f'lmv_stripe_count: {count} lmv_stripe_offset: {first} lmv_hash_type: none'
    return f'{where} lmv_max_inherit: {levels} lmv_max_inherit_rr: 0\n'


def df(arguments, state):
    options, operands = parse('df', arguments, state)
    names = [name for name, _ in options]
    assert names in ([], ['-i'], ['-v']) and len(operands) == 1 and inside(state, operands[0])
    text, shown_rows = lustre_step('012' if names == ['-i'] else state['df']).stdout, ''
    for line in text[text.index('UUID  ') :].splitlines(keepends=True):
        index = re.search(r'\[OST:(\d+)\]', line)
        if line.startswith('Filesystem') or (index is not None and int(index.group(1)) in state['away']):
            raise Refusal(BLOCKS, stdout=shown_rows)  # here the genuine one did
        if index is None or int(index.group(1)) not in state['inactive']:
            flash = '-v' in names and index is not None and int(index.group(1)) in state.get('flash', ())
            mark = (' f' if line.rstrip().endswith(']') else 'f') if flash else ''
            shown_rows += f'{line.replace(GENUINE_MOUNT, state["mount"])[:-1]}{mark}\n'
        elif '-v' in names:
            shown_rows += f'{line.split()[0]:<20}: inactive device\n'
        if line.startswith('filesystem_summary'):
            break
    return shown_rows + '\n'


def listed(kind, head, arguments, state):
    """As transcript 017 shows them."""
    what, inactive = f'{kind.lower()}s', state['inactive'] if kind == 'OST' else []
    _, operands = parse(what, arguments, state)
    assert len(operands) <= 1
    words = enumerate('INACTIVE' if index in inactive else 'ACTIVE' for index in range(state[what]))
    return f'{head}:\n' + ''.join(f'{index}: lustre-{kind}{index:04x}_UUID {word}\n' for index, word in words)


def check(arguments, state):
    _, (kind,) = parse('check', arguments, state)
    device = {'osts': '-osc-', 'mdts': '-mdc-'}[kind]
    stdout, stderr = lustre_step(state['check'] if kind == 'osts' else '014')
    lines = [line for line in dict.fromkeys((stdout + stderr).splitlines(keepends=True)) if device in line]
    active = ''.join(line for line in lines if line.endswith(' active.\n'))
    raise Refusal(0, ''.join(line for line in lines if line.startswith('lfs check: error')), active)


def pool_list(arguments, state):
    _, operands = parse('pool_list', arguments, state)
    fsname, _, pool = ''.join(operands).partition('.')
    assert len(operands) == 1 and fsname == 'lustre' and (not pool or pool in state['pools'])
    if pool:
        osts_of = ''.join(f'{fsname}-OST{index:04x}_UUID\n' for index in state['pools'][pool])
        return f'Pool: {fsname}.{pool}\n{osts_of}'
    return f'Pools from {fsname}:\n' + ''.join(f'{fsname}.{name}\n' for name in state['pools'])


def quota(arguments, state):
    options, operands = parse('quota', arguments, state)
    if options == [('-p', str(state['project'][0]))] and operands == [state['mount']]:
        block = re.search(r'^Disk quotas for prj .*\n.*\n.*\n', lustre_step('118').stdout, re.M).group(0)
        number, limit = state['project']
        block = block.replace('0       0       0       -', f'4       0 {limit:7} -', 1)
        return block.replace('pid 100', f'pid {number}').replace(GENUINE_MOUNT, state['mount'])
    assert not options and operands == [state['mount']]
    text = lustre_step(state['quota']).stdout
    form = r'^Disk quotas for (?:usr|grp) tester .*\n +Filesystem +kbytes.*\n +/mnt/lustre.*\n'
    blocks = re.findall(form, text, re.M)
    if not blocks:
        raise Refusal(1, 'Permission denied.\n')
    return ''.join(blocks[-2:]).replace(GENUINE_MOUNT, state['mount'])


def project(arguments, state):
    """As lfs_project.c prints it; the mount's root hands its project down."""
    assert len(arguments) == 2 and arguments[0] == '-d' and inside(state, arguments[1])
    number = state['project'][0]
    return f'{number:5} {"P" if number else "-"} {arguments[1]}\n'


def getname(arguments, state):
    """Of one path, as lfs.c prints it: 2.12 to 2.16 with the path behind the name."""
    assert len(arguments) == 1 and not arguments[0].startswith('-') and inside(state, arguments[0])
    return f'lustre-{INSTANCE} {arguments[0]}\n' if before_217(state) else f'lustre-{INSTANCE}\n'


def help_of(arguments, state):
    assert len(arguments) == 1 and arguments[0] in HELP
    raise Refusal(0, usage_of(arguments[0], state))


def version(arguments, state):
    return f'lfs {state["version"]}\n'


def before_217(state):
    return [int(number) for number in state['version'].split('.')[:2]] < [2, 17]


COMMANDS = {
    **{command.__name__: command for command in (setstripe, getstripe, mkdir, getdirstripe, setdirstripe, df, check)},
    **{command.__name__: command for command in (pool_list, quota, project, getname)},
    'osts': functools.partial(listed, 'OST', 'OBDS'),
    'mdts': functools.partial(listed, 'MDT', 'MDTS'),
    'help': help_of,
    '--version': version,
}
play = functools.partial(played_by, 'lfs', COMMANDS, ('setstripe', 'getstripe', 'mkdir', 'setdirstripe'))
