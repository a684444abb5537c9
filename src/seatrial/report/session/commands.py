"""The commands of every measured point as they ran, for whoever wants to run one again."""

import shlex
from collections.abc import Sequence

from seatrial.model.record import Sample
from seatrial.report.evidence import CaseEvidence
from seatrial.report.figures import brief
from seatrial.report.words import clean, point_words


def commands(cases: Sequence[CaseEvidence], system: str) -> str:
    """commands.txt: the launches of one repetition of each point, with directory, environment and figures."""
    lines = []
    for case in cases:
        for point in case.plan.points:
            launches = case.launches.get(point.label, ())
            lines += [f'#### {case.plan.case.name}: {point_words(case.plan.axis, point)}'] if launches else []
            for sample in launches:
                lines += [
                    f'# {_words(sample, system)}',
                    f'cd {shlex.quote(sample.directory)}',
                    *(f'export {shlex.quote(setting)}' for setting in sample.environment),
                    *sample.command,
                    '',
                ]
    return clean('\n'.join(lines))


def _words(sample: Sample, system: str) -> str:
    """'write@2MiB; it gave 512 MiB/s', in one line."""
    if sample.stage == 'prepare':
        return 'prepare what is read or listed'
    metrics = sample.measurement.metrics if sample.measurement else ()
    gave = [
        f'{f"{metric.name} " if len(metrics) > 1 else ""}{brief(metric.value, metric.unit, system)}'
        for metric in metrics
    ]
    return f'{sample.launch}{"; it gave " if gave else ""}{", ".join(gave)}'.replace('\n', ' ')
