"""A stand-in for lnetctl 2.17: it replays what root and an ordinary user are told (tests/transcripts/lustre)."""

from lfs import NOT_PLAYED, Refusal, play, say

from transcript import lustre_step


def main(arguments, told_file):
    return play('lnetctl', arguments, told_file, (), answer)


def answer(arguments, state, told_file):
    if arguments != ['net', 'show', '-v']:
        return say(Refusal(NOT_PLAYED, f'lnetctl {arguments} is not played\n'), told_file)
    shown = lustre_step('460_lnet' if state['root'] else '465_lnet')
    return say(Refusal(0 if state['root'] else 234, shown.stderr, shown.stdout), told_file)
