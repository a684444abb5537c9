"""The trial plan: all work of one job, as data. It is written as plan.json and read on the node."""

import hashlib
import json
from typing import Dict, NamedTuple, Optional, Tuple

from seatrial.model.action import Action
from seatrial.model.codec import FormError, from_json, to_json
from seatrial.model.foreign import read_json
from seatrial.model.layout import Layout
from seatrial.model.point import Axis, Point

SCHEMA = 3
ALL_IN_ONE = 2  # the schema of plans whose points have no parts: all parameters are fields of the point


class Case(NamedTuple):
    """One ReFrame case."""

    check: str
    partition: str
    file_system: str
    layout: str
    nodes: int

    @property
    def name(self) -> str:
        """Readable, and unique in a session: Check/partition/file system/layout/2n."""
        return f'{self.check}/{self.partition}/{self.file_system}/{self.layout}/{self.nodes}n'

    @property
    def slug(self) -> str:
        """The name in characters that are safe in file names; unique because the parts have none of them."""
        return self.name.replace('/', '+').replace(':', '=')


class Limits(NamedTuple):
    """The most that a session may have on the file system at any time; keep_*: must stay free for others."""

    bytes: int
    inodes: int
    keep_bytes: int = 0
    keep_inodes: int = 0


class Monitor(NamedTuple):
    """A server, and the argv that reaches it, to which a line for its shell is added."""

    server: str
    argv: Tuple[str, ...]


class Target(NamedTuple):
    """The file system under test, as one job sees it: keys of trial.yaml (site-config.md) and words of its type.
    Sizes in bytes, times in seconds; None is undeclared or unknown, empty is none."""

    name: str
    type: str
    path: str
    storage_system: str
    limits: Limits
    layout: Layout = Layout()
    mount: Optional[str] = None
    records_on_target: bool = False
    drop_caches: bool = False
    recovery_limit_s: float = 0.0
    compresses: Optional[bool] = None
    server_cache_bytes: Optional[int] = None
    fast_tier_bytes: Optional[int] = None
    osts: Optional[int] = None  # number of the site's targets, as are mdts, bricks and storage_targets
    mdts: Optional[int] = None
    no_layout: str = ''  # the reason why no layout can be set; this and `tried` come from the type's driver
    tried: str = ''  # where the driver was measured for real
    deduplicates: Optional[bool] = None
    telemetry: Tuple[str, ...] = ()
    monitors: Tuple[Monitor, ...] = ()
    listed: Tuple[str, ...] = ()  # targets that the site lists by their numbers: it leaves others of their kind out
    bricks: Optional[int] = None
    to_be_filled: str = ''
    targets_may_be_away: bool = False
    storage_targets: Optional[int] = None


class Words(NamedTuple):
    """The options of one launcher, separated by blanks: srun(1); mpiexec of Hydra; mpirun(1). When one rank dies,
    srun has to be asked to end the others; the others do so by themselves."""

    start: str  # the command, with the fields {nodes}, {tasks} and {per_node}
    pin: str = ''  # pins it to nodes: {names} of them, or {slots}, each with its tasks
    unbound: str = ''  # a process is not bound to the core of one task
    exports: str = ''  # the processes get the whole environment, also where the site has jobs begin with an empty one


LAUNCHERS: Dict[str, Words] = {  # by the kind that a site names; 'local' reaches one node
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


class Launcher(NamedTuple):
    """The kind of a launcher (LAUNCHERS) and the site's own arguments."""

    kind: str = 'local'
    arguments: Tuple[str, ...] = ()


class NodeGroup(NamedTuple):
    """Nodes that are compared with others as a group, such as a rack; hosts by their names in Slurm."""

    name: str
    hosts: Tuple[str, ...]


class EngineChoice(NamedTuple):
    """An engine in the order of preference; program is a path or a name looked up on the node's PATH."""

    name: str
    program: str


class StoppingRule(NamedTuple):
    """Repeat until the two-sided t interval at `confidence` is within `max_relative_error` of the mean, `minimum` to
    `maximum` times (Boito et al. 2009: "90 % confidence, 10 % error, 4 runs")."""

    max_relative_error: float
    minimum: int = 4
    maximum: int = 20
    extra: int = 2  # repetitions after the stop: an interval that ends a measurement is too often too narrow
    confidence: float = 0.90
    budget_s: float = 3600.0  # no launch starts later
    fixed: bool = False  # no interval is asked for (smoke tests)
    between: float = 0.0  # relative noise between nights, to which this one adds little (rules/stopping.py); 0: none

    @property
    def once(self) -> bool:
        return self.fixed and self.maximum == 1


class Sizing(NamedTuple):
    """A task's bytes, or files of a flat tree: the node decides them before the first measured launch."""

    first: int  # a task's share of the first warm-up
    granule: int  # a task's share is a multiple of it
    target_s: float  # seconds that the shortest timed region should last; 0: `first` is used as it is
    min_s: float  # a timed region shorter than this is not valid (rule T19, P16)
    working_set: bool = False  # True if twice the nodes' memory and the declared caches must be exceeded (P16)
    pinned: Optional[int] = None  # a task's share where the site has fixed it, or None

    @property
    def fixed(self) -> bool:
        return self.pinned is not None or self.target_s == 0


class TrialPlan(NamedTuple):
    """All work of one job."""

    schema: int
    seatrial: str
    session: str
    case: Case
    profile: str
    axis: Axis
    points: Tuple[Point, ...]  # all of one kind, with the same phases
    engines: Tuple[EngineChoice, ...]
    launcher: Launcher
    target: Target
    records: str
    state: str
    stopping: StoppingRule
    sizing: Sizing
    launch_limit_s: float
    seed: int
    left_out: Tuple[str, ...] = ()  # the values of the sweep that give no point in this allocation, in words
    commit: str = ''  # commit of the checkout that Seatrial runs from, or empty
    reframe: str = ''  # version of ReFrame
    pydarshan: str = ''  # version of PyDarshan, which reads the logs of the Darshan repetition; empty without one
    darshan: str = ''  # the library that the Darshan repetition is made with (P15); empty: none is made
    # the least that the site's references allow, by metric, in base units: a drill-down follows what is surely less
    floors: Dict[str, float] = {}  # noqa: RUF012 (a value; nobody changes it)
    node_memory: int = 0  # bytes of a node of the partition as the site declares them; 0 is undeclared
    contract: str = ''  # SHA-256 of the procedure of a contract that its session was begun for; empty: none
    actions: Tuple[Action, ...] = ()  # the actions of the site that the points name
    groups: Tuple[NodeGroup, ...] = ()  # groups of the partition's nodes, as the site has them

    @property
    def kind(self) -> str:
        return self.points[0].kind

    @property
    def phases(self) -> Tuple[str, ...]:
        return self.points[0].phases

    def point(self, label: str) -> Point:
        """The point of that label, before it is resized. Raises KeyError."""
        return {point.label: point for point in self.points}[label]


def read_plan(path: str) -> TrialPlan:
    """Read a plan. Raises NotReadable, FormError for any other form or schema, OSError."""
    data = read_json(path)
    if isinstance(data, dict) and data.get('schema') not in (SCHEMA, ALL_IN_ONE):
        raise FormError(f'schema: {data.get("schema")} is neither {SCHEMA} nor {ALL_IN_ONE}, which are read here')
    return from_json(TrialPlan, data)


def digest(plan: TrialPlan) -> str:
    """The SHA-256 of the plan's canonical JSON in its own schema; it ties a record to its plan."""
    data = to_json(plan)
    if plan.schema == ALL_IN_ONE:
        data['points'] = [Point.as_earlier(point) for point in data['points']]
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode('utf-8')).hexdigest()


def metric(name: str, label: str) -> str:
    """The name of a metric at a point. It has no colon: ReFrame would silently lose its reference."""
    return f'{name}@{label}'
