"""The launchers that a site may name, with their options: srun(1); mpiexec of Hydra; mpirun(1). When one rank dies,
srun has to be asked to end the others; the others do so by themselves."""

from typing import Dict, NamedTuple


class Words(NamedTuple):
    """The options of one launcher, separated by blanks."""

    start: str  # with the fields {nodes}, {tasks} and {per_node}
    pin: str = ''  # to nodes: {names} of them, or {slots}, each with its tasks
    unbound: str = ''  # a process is not bound to the core of one task
    exports: str = ''  # the processes get the whole environment, also where the site has jobs begin with an empty one


LAUNCHERS: Dict[str, Words] = {
    'local': Words('mpiexec -n {tasks}'),
    'srun': Words(
        'srun -N{nodes} -n{tasks} --ntasks-per-node={per_node} --kill-on-bad-exit=1',
        pin='--nodelist={names}',
        unbound='--cpu-bind=none',
        exports='--export=ALL',
    ),
    'hydra': Words('mpiexec -n {tasks} -ppn {per_node}', pin='-hosts {names}'),
    'openmpi': Words(
        'mpirun -n {tasks} --map-by ppr:{per_node}:node', pin='--host {slots}', unbound='--bind-to none'
    ),
}
"""By the kind that a site names; 'local' reaches one node."""
