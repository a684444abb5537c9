"""Plain ReFrame, as people use it without Seatrial: a case for each point, whose script repeats the point's command.

The script runs without a step of Slurm, as in Seatrial's own cases, although ReFrame would make one. SEATRIAL_BENCH
names the file that harness.a_case_a_point writes.
"""

import json
import os
from pathlib import Path

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.backends import getlauncher
from reframe.core.builtins import parameter, performance_function, run_before, sanity_function

GIVEN = json.loads(Path(os.environ['SEATRIAL_BENCH']).read_text())
COMMANDS = GIVEN['commands']


@rfm.simple_test
class Point(rfm.RunOnlyRegressionTest):
    check = parameter(range(GIVEN['checks']))
    label = parameter(list(COMMANDS))
    valid_systems = ['*']
    valid_prog_environs = ['*']
    num_nodes = 1
    executable = 'true'

    @run_before('run')
    def take_commands(self):
        self.prerun_cmds = ['mkdir data', 'cd data', *COMMANDS[self.label]['lines'], 'cd ..']
        self.job.launcher = getlauncher('local')()

    @sanity_function
    def there(self):
        return sn.all(sn.path_isfile(report) for report in COMMANDS[self.label]['reports'])

    @performance_function('MiB/s')
    def write(self):
        reports = [json.loads(Path(report).read_text()) for report in COMMANDS[self.label]['reports']]
        seconds = [report['jobs'][0]['write']['runtime'] / 1000 for report in reports]
        return GIVEN['mib'] / (sum(seconds) / len(seconds))
