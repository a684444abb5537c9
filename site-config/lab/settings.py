"""ReFrame's settings of the Slurm lab on one machine: `ci/lab-slurm up`, then `eval "$(ci/lab-slurm env)"`."""

import os
from pathlib import Path

from seatrial.site.load import check_folders

HERE = Path(__file__).absolute().parent
REFRAME = f'{HERE}/../../.seatrial-lab/reframe'


def has_accounting():
    """True if the lab at hand was made with --accounting, by its slurm.conf."""
    conf = Path(os.environ.get('SLURM_CONF', ''))
    return conf.is_file() and 'AccountingStorageType=accounting_storage/slurmdbd' in conf.read_text()


_PARTITION = {
    # 'slurm' asks sacct; 'squeue' does without, and Seatrial asks scontrol how a job ended.
    'scheduler': 'slurm' if has_accounting() else 'squeue',
    # Without it ReFrame asks for tasks only, and Slurm may pack them on fewer nodes.
    'sched_options': {'use_nodes_option': True},
    'launcher': 'srun',
    'environs': ['builtin'],
    # Two trials at a time would measure each other: they share one machine.
    'max_jobs': 1,
}

site_configuration = {
    'systems': [
        {
            'name': 'lab',
            'descr': 'Slurm with its nodes in namespaces of one machine',
            'hostnames': ['.*'],
            'prefix': REFRAME,
            'partitions': [
                {**_PARTITION, 'name': name, 'access': [f'--partition={name}', '--exclusive', '--no-requeue']}
                for name in ('compute', 'io')
            ],
        },
    ],
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
            'level': 'info',
            'handlers$': [{'type': 'stream', 'name': 'stdout', 'level': 'info', 'format': '%(message)s'}],
            'handlers': [{'type': 'file', 'level': 'info', 'format': '%(message)s'}],
        },
    ],
}
