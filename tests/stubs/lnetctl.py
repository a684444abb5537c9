"""A stand-in for lnetctl 2.17: it replays what root and an ordinary user are told (tests/transcripts/lustre)."""

from lfs import NOT_PLAYED, Refusal, played_by

from transcript import lustre_step


def play(arguments, told_file):
    return played_by('lnetctl', {'net': net}, (), arguments, told_file)


def net(arguments, state):
    if arguments != ['show', '-v']:
        raise Refusal(NOT_PLAYED, f'lnetctl net {arguments} is not played\n')
    shown = lustre_step('460_lnet' if state['root'] else '465_lnet')
    raise Refusal(0 if state['root'] else 234, shown.stderr, shown.stdout)
