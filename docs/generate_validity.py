"""Prints docs/validity.md from the rules themselves: `python docs/generate_validity.py > docs/validity.md`."""

import importlib

from seatrial.job.sequence.contents import BLOCKS_PER_FILE, MAX_BLOCKS, MAX_FILES
from seatrial.rules.contents import BLOCK, UNSYNCED_S, UNSYNCED_SHARE
from seatrial.rules.launch import BESIDE_S, BESIDE_SHARE, BESIDE_TIMES
from seatrial.rules.registry import (
    BEFORE,
    BY_DESIGN,
    CASE,
    DATA_LAUNCH,
    EFFECTS,
    LAUNCH,
    METADATA_LAUNCH,
    RULES,
    WRITTEN,
)

for module in ('before', 'launch', 'contents', 'case', 'issued', 'prevented'):
    importlib.import_module(f'seatrial.rules.{module}')

HEAD = """# When a measurement is not valid

Each rule below is one function in `src/seatrial/rules/`; this page is made from them. The terminal, `results.json`
and the record of the launch name a broken rule. They say what was found and what to do about it;
`seatrial explain RULE` prints one of them.

| effect | what it means |
|---|---|
"""

LIMITS = """
## What cannot be known

No rule sees what follows, so no verdict speaks of it. The lies that are seen are tried with fio and with IOR in
`tests/integration/test_storage_errors.py`.

- **Storage that acknowledges fsync and loses nothing until power fails.** Whatever is read meanwhile agrees (F2).
  Only cutting the power would tell.
- **Figures that are too good by less than a busy node's start-up (T24).** A launch of data access may live beside its
  timed region for {beside_s:g} s, {times:g} times the start-up that the warm-up shows, and {share:g} % of the region.
  So doubled figures are seen where the true region lasts more than {true_s:g} s and {starts:g} start-ups, and up to
  {share:g} % too much is never seen by the time alone. Rates of metadata are not compared with the life of their
  launch, nor is a launch whose srun had to wait for Slurm.
- **A lie behind the traffic of others (T25, P2).** The counters are those of a whole client or device: what others
  write or read meanwhile stands in for what the engine did not. Where a type counts nothing, both rules are silent.
- **A small hole in a timed file (T22, P4).** Of each of {parts} equal parts of a file one block of {block} B is
  looked at: of fewer parts where there are more than {many} files, and of at most {files} files. A hole is always
  found where it covers a whole part, and on ext and XFS, whose files count their blocks.
- **A sync that was left out (T23).** What the runner's own sync then takes is noise below {unsynced_s:g} s or
  {unsynced:g} % of the timed region, and it syncs what its own node holds. On ext and XFS, where the kernel counts
  dirty pages (Linux 6.5 does), they are asked, and not the time. Only Darshan counts the syncs themselves (P15).
- **Changes in what the proof did not compare (F2).** Each report says how much content was verified.
"""


def page() -> str:
    """The whole page."""
    text = HEAD + ''.join(f'| {effect} | {meaning} |\n' for effect, meaning in EFFECTS.items())
    for moment in (BEFORE, LAUNCH, DATA_LAUNCH, WRITTEN, METADATA_LAUNCH, CASE, BY_DESIGN):
        text += f'\n## {moment.capitalize()}\n\n'
        text += '| id | what must hold | effect | remedy | source |\n'
        text += '|---|---|---|---|---|\n'
        for rule in RULES.values():
            if rule.when == moment:
                text += f'| {rule.id} | {rule.title} | {rule.effect} | {rule.remedy} | {rule.source} |\n'
    return text + LIMITS.format(
        beside_s=BESIDE_S,
        times=BESIDE_TIMES,
        share=100 * BESIDE_SHARE,
        # Of doubled figures half of the true region and a start-up lie beside the other half.
        true_s=2 * BESIDE_S / (1 - BESIDE_SHARE),
        starts=2 * (BESIDE_TIMES - 1) / (1 - BESIDE_SHARE),
        parts=BLOCKS_PER_FILE,
        block=BLOCK,
        many=MAX_BLOCKS // BLOCKS_PER_FILE,
        files=MAX_FILES,
        unsynced_s=UNSYNCED_S,
        unsynced=100 * UNSYNCED_SHARE,
    )


if __name__ == '__main__':
    print(page(), end='')
