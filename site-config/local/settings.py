"""The machine at hand, for ReFrame: its local scheduler, one partition, one trial at a time."""

site_configuration = {
    'systems': [
        {
            'name': 'local',
            'descr': 'The machine that runs ReFrame',
            'hostnames': ['.*'],
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
    'general': [{'poll_rate_min': 5}],
    'logging': [
        {
            # Not debug, where ReFrame spends about half of its time on formatting.
            'handlers$': [{'type': 'stream', 'name': 'stdout', 'level': 'info', 'format': '%(message)s'}],
            'handlers': [{'type': 'file', 'level': 'info', 'format': '%(message)s'}],
        },
    ],
}
