"""Rules that no measurement can break: the plan never breaks them, or is refused before it runs."""

from seatrial.rules.registry import BY_DESIGN, rule

PREVENTED = {  # remedy and source by the heading of the rule
    'T2: Direct I/O is not asked of MPI-IO': (
        'a check or trial with both is refused; use the interface posix',
        'IOR takes --posix.odirect with -a MPIIO and ignores it (seen)',
    ),
    'T6: Nothing outside the marked run directory is written or removed': (
        'the directory is known by its marker and inode, and only what was made in it is removed',
        "a site suite's cleanup removed other people's directories",
    ),
    'T11: No launch with I/O is the first that a launcher makes': (
        'P17: one without I/O shows that the nodes are reached',
        'mpiexec hangs where node names do not resolve (seen)',
    ),
    'T16: A job goes on to its end while Slurm is away, and is not begun anew': (
        'Slurm is asked again; --no-requeue; what a session left is seen by S3 and `seatrial clean`',
        "slurmctld was away for 20 s, and ReFrame's squeue scheduler took the running job for complete (seen)",
    ),
    'P3: No launch is cut off by a stonewall': (
        'every task moves its bytes to the end, or a random one works for its time, and the slowest is reported; '
        'what an engine says of a stonewall breaks T1',
        'IO500 rules, issues 14 and 28',
    ),
    'P10: Random reads are of data that were written for them': (
        'the whole working set is written before, in order',
        'hpc/ior#261: sparse files are more than a hundred times off',
    ),
    'P12: A reference holds for its own number of nodes': (
        'it stands under num_nodes of references.yaml, and one that no trial measures is refused',
        "Perlmutter's acceptance (Lockwood): bandwidth at the share of nodes that the contract names",
    ),
    'P13: A trend is judged by change points, and before and after by intervals over sessions': (
        'no fixed threshold is asked for: `seatrial trend`, and `seatrial compare` with several sessions a side',
        "MongoDB's change points (Daly et al., ICPE 2020); Apache Otava; TOKIO (SC18)",
    ),
    'P14: A figure is judged with an interval that it has earned': (
        'fewer than six repetitions decide nothing',
        "Hoefler and Belli SC15; Student's t with one degree of freedom less",
    ),
    'P19: Points are called alike only with a simultaneous interval inside the margin': (
        'outside is FAIL, on both sides INCONCLUSIVE',
        'the studentised range; the plain ratio fails 7 to 63 % of good systems (simulated)',
    ),
}

for heading, (remedy, source) in PREVENTED.items():
    rule(BY_DESIGN, 'never', heading, remedy, source)
