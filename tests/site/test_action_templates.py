"""The actions to copy from docs/scenarios.md: they can be read, and what they ask of Lustre is known to it."""

import re
from pathlib import Path

import pytest
import yaml

from seatrial.site.model import ActionEntry
from transcript import transcripts

PAGE = (Path(__file__).resolve().parents[2] / 'docs' / 'scenarios.md').read_text()
LUSTRE = transcripts('lustre')
ACTIONS = {
    name: entry
    for block in re.findall(r'```yaml\n(actions:.*?)```', PAGE, re.DOTALL)
    for name, entry in yaml.safe_load(block)['actions'].items()
}
COMMANDS = [' '.join(entry[key]) for entry in ACTIONS.values() for key in ('start', 'undo', 'check')]
OF_LUSTRE = [each for each in COMMANDS if 'lctl ' in each or 'mount' in each]


@pytest.mark.parametrize('name', ACTIONS)
def test_each_can_stand_in_a_trial_yaml(name):
    ActionEntry.model_validate(ACTIONS[name])


@pytest.mark.parametrize('command', OF_LUSTRE)
def test_what_it_asks_of_lustre_is_in_the_usage_texts_or_was_seen_to_work(command):
    found = re.search(r'lctl (\w+)((?: -\w+)*) (\S+)', command)
    if found is None:
        seen = ' '.join(LUSTRE['34_failover_during_ior'].values())
        verb = re.search(r'umount /mnt/ost3|mount -t lustre|mountpoint -q', command)
        assert verb is not None and (verb.group() in seen or verb.group().startswith('mountpoint'))
        return
    verb, options, parameter = found.groups()
    usage = next(text for name, text in LUSTRE['61_help_of_lctl'].items() if name.endswith(f'help_{verb}.err'))
    assert f'usage: {verb} ' in usage
    assert all(re.search(rf'[\[|]{option}\b', usage) for option in options.split())
    known = ' '.join(text for name in ('30_deactivated', '31_degraded', '46_state') for text in LUSTRE[name].values())
    known += ' '.join(text for each in LUSTRE.values() for text in each.values() if 'health_check' in text)
    last = parameter.partition('=')[0].rpartition('.')[2]
    assert re.search(rf'\b{last}\b', known)
