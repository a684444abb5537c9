"""ReFrame's settings of a fictional site: 64 compute and 4 I/O nodes under Slurm, with accounting.

Plain ReFrame, nothing of Seatrial's: https://reframe-hpc.readthedocs.io/en/stable/config_reference.html
It has to run by itself as Python, because Seatrial executes it to learn the names of the partitions.
"""

from pathlib import Path

from seatrial.site.load import check_folders

HERE = Path(__file__).absolute().parent
# In the state directory of trial.yaml: stage and output folders, performance logs and the results database.
REFRAME = '/admin/seatrial/pelagia/reframe'

# Of every partition: ReFrame does not read those of the system for the jobs of a test.
_SCHED_OPTIONS = {
    # Without it ReFrame asks for tasks only, and Slurm may pack them on fewer nodes.
    'use_nodes_option': True,
    # Seconds that sbatch may take while slurmctld is busy.
    'job_submit_timeout': 120,
}

site_configuration = {
    'systems': [
        {
            'name': 'pelagia',
            'descr': 'Fictional cluster with Lustre and NFS',
            # Which machine is this? The login nodes' names, as regular expressions.
            'hostnames': [r'login[0-9]+\.pelagia'],
            'prefix': REFRAME,
            # The engines come from modules: docs/how-to/install.md
            'modules_system': 'lmod',
            'partitions': [
                {
                    'name': 'compute',
                    'descr': '64 nodes, 64 cores, 256 GiB, Lustre clients over InfiniBand',
                    # 'slurm', not 'squeue': only accounting tells how a job ended.
                    'scheduler': 'slurm',
                    'sched_options': _SCHED_OPTIONS,
                    'launcher': 'srun',
                    # Whole nodes, because a neighbour's I/O would be measured too. No requeue: a trial that was
                    # interrupted is reported as such, and not silently begun anew.
                    'access': ['--partition=compute', '--account=benchmark', '--exclusive', '--no-requeue'],
                    'environs': ['seatrial'],
                    # One trial at a time on one storage system; Seatrial's own lock holds between sessions.
                    'max_jobs': 1,
                },
                {
                    'name': 'io',
                    'descr': '4 data transfer nodes, 32 cores, 128 GiB',
                    'scheduler': 'slurm',
                    'sched_options': _SCHED_OPTIONS,
                    'launcher': 'srun',
                    'access': ['--partition=io', '--account=benchmark', '--exclusive', '--no-requeue'],
                    'environs': ['seatrial'],
                    'max_jobs': 1,
                },
            ],
        },
    ],
    # One environment a partition: a trial runs once in each. The module of ior brings its MPI along.
    'environments': [
        {
            'name': 'seatrial',
            'modules': [
                {'name': 'seatrial/ior/4.0.0', 'path': '/opt/seatrial/environment/modules/lmod/Core'},
                {'name': 'seatrial/fio/3.37', 'path': '/opt/seatrial/environment/modules/lmod/Core'},
            ],
        },
    ],
    'general': [{'check_search_path': check_folders(HERE), 'check_search_recursive': True}],
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
