"""Stand-ins for lctl and lnetctl 2.17: they replay genuine outputs (tests/transcripts/lustre).

Beside what tests/stubs/lfs.py reads, the JSON file tells:

    params        {name: value} that stand in the place of genuine ones
    unreadable    patterns of parameters that this user cannot read
    closed        whether that is because debugfs is closed to this user: then lctl ends with 2 and says nothing
    shifts        whether counters that an ordinary user names by a wildcard have the names of the next device's, and
                  lack the last character of a line, as in a genuine 2.17
    cached_mb     what max_cached_mb says is used; setting lru_size to clear makes it 0, or `kept_mb`
    unresponsive  whether it does not answer
"""

import fnmatch
import functools
import re

import lfs
from lfs import BLOCKS, INSTANCE, Refusal, parse, played_by

from transcript import lustre_step

SOURCES = ('019', '021', '100', '101', '102', '105', '106', '107', '108', '109', '112', '119', '461')
OTHER_INSTANCE = 'ffff888109352000'  # of the mount of 46_state
NAME = re.compile(r'([A-Za-z][\w@:-]*(?:\.[\w@:-]+)*)=(.*)\Z')


def operands_of(command, arguments, state):
    """As a command that may be blocked, and takes operands alone."""
    if state.get('unresponsive'):
        raise Refusal(BLOCKS)
    options, operands = parse(command, arguments, state)
    assert operands and not options
    return operands


@functools.cache
def genuine():
    """Every parameter that a transcript shows, with its value as it was printed."""
    values = {}
    for source in SOURCES:
        name = None
        for line in lustre_step(source).stdout.replace(OTHER_INSTANCE, INSTANCE).splitlines():
            match = NAME.match(line)
            if match is not None:
                name = match.group(1)
                values[name] = match.group(2) + '\n'
            elif name is not None:
                values[name] += line + '\n'
    return values


def parameters(state):
    """The genuine ones, but for what the file tells."""
    values = dict(genuine())
    cached = f'users: 8\nmax_cached_mb: 3970\nused_mb: {state["cached_mb"]}\nunused_mb: 3921\n'
    values[f'llite.lustre-{INSTANCE}.max_cached_mb'] = f'\n{cached}unevict_mb: 0\nreclaim_count: 0\n'
    values.update(state['params'])
    unreadable = {name for pattern in state['unreadable'] for name in fnmatch.filter(values, pattern)}
    return {name: value for name, value in values.items() if name not in unreadable}


def matching(pattern, names):
    """A wildcard does not go over a dot, which is a slash of the path."""
    parts = pattern.split('.')
    for name in names:
        if len(name.split('.')) == len(parts) and all(map(fnmatch.fnmatchcase, name.split('.'), parts)):
            yield name


def get_param(arguments, state):
    known, status, stdout, stderr = parameters(state), 0, '', ''
    for pattern in operands_of('get_param', arguments, state):
        names = list(matching(pattern, known))
        shifts = state.get('shifts') and not state['root'] and '*' in pattern and pattern.endswith('.stats')
        for place, name in enumerate(names):
            value = shifted(known[name], known[names[(place + 1) % len(names)]]) if shifts else known[name]
            stdout += f'{name}={value}'
        if not names:
            path = pattern.replace('.', '/')
            status = 2
            if not state.get('closed'):
                stderr += f"error: get_param: param_path '{path}': No such file or directory\n"
    raise Refusal(status, stderr, stdout)


def shifted(value, other):
    """The counters of one device under the names of another's, place by place."""
    lines, names = value.splitlines(), [line.partition(' ')[0] for line in other.splitlines()]
    for place, line in enumerate(lines):
        if ' samples [' in line and place < len(names):
            lines[place] = f'{names[place]:<25} {line.partition(" ")[2].lstrip()}'
    return '\n'.join([*lines[:-1], lines[-1][:-1]]) + '\n'


def set_param(arguments, state):
    done = ''
    for setting in operands_of('set_param', arguments, state):
        pattern, _, value = setting.partition('=')
        names = list(matching(pattern, parameters(state)))
        assert pattern.endswith('.lru_size') and value == 'clear' and names and state['root']
        done += ''.join(f'{name}={value}\n' for name in names)
    state['cached_mb'] = state.get('kept_mb', 0)
    return done


def net(arguments, state):
    """The answers to root and to an ordinary user."""
    assert arguments == ['show', '-v']
    shown = lustre_step('460_lnet' if state['root'] else '465_lnet')
    raise Refusal(0 if state['root'] else 234, shown.stderr, shown.stdout)


# Each program of a Lustre.
PLAYED = {
    'lfs': lfs.play,
    'lctl': functools.partial(played_by, 'lctl', {'get_param': get_param, 'set_param': set_param}, ('set_param',)),
    'lnetctl': functools.partial(played_by, 'lnetctl', {'net': net}, ()),
}
