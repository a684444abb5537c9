"""The machine at hand, for ReFrame: its local scheduler, one partition, one trial at a time."""

from pathlib import Path

from seatrial.site.load import check_folders

HERE = Path(__file__).absolute().parent
REFRAME = f'{HERE}/../../.seatrial/reframe'

site_configuration = {
    'systems': [
        {
            'name': 'local',
            'descr': 'The machine that runs ReFrame',
            'hostnames': ['.*'],
            'prefix': REFRAME,
            'partitions': [
                {
                    'name': 'default',
                    'descr': 'Processes on this machine',
                    'scheduler': 'local',
                    'launcher': 'local',
                    'environs': ['builtin'],
                    # Two trials at a time would measure each other.
                    'max_jobs': 1,
                },
            ],
        },
    ],
    # Else ReFrame asks less and less often, and notices the end of a long case up to 10 s late.
    'general': [{'poll_rate_min': 5, 'check_search_path': check_folders(HERE), 'check_search_recursive': True}],
    # reframe --mode nightly -l: the cases of one profile, with folders of their own (docs/how-to/reframe.md).
    'modes': [
        {
            'name': profile,
            'options': [f'--tag=^{profile}$', f'--setvar=profile={profile}', f'--prefix={REFRAME}/{profile}'],
        }
        for profile in ('first', 'smoke', 'nightly', 'acceptance', 'paper')
    ],
    # What ReFrame compares by itself: --performance-compare, --list-stored-sessions.
    'storage': [{'enable': True, 'sqlite_db_file': f'{REFRAME}/results.db'}],
    'logging': [
        {
            # ReFrame spends a third of its time on messages for debugging that no handler writes.
            'level': 'info',
            'handlers$': [{'type': 'stream', 'name': 'stdout', 'level': 'info', 'format': '%(message)s'}],
            'handlers': [{'type': 'file', 'level': 'info', 'format': '%(message)s'}],
        },
    ],
}
