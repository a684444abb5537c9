"""The texts that docs/ gives for the files of a site are accepted, word for word, by the sites of Seatrial."""

import re
import shutil
from pathlib import Path

import pytest
import yaml

from builders import all_checks
from seatrial.check.contract import contract_of_site
from seatrial.check.planning import cases_of, plan_of
from seatrial.check.session import Session
from seatrial.rules.case import STORAGE_MIN_S
from seatrial.site.load import load as load_site
from seatrial.site.profile import PROFILES

ROOT = Path(__file__).parents[2]
CHECKS = all_checks()


def page(name):
    return (ROOT / 'docs' / name).read_text()


def snippet(name, key):
    """The only YAML of a page that has this key at the top."""
    blocks = re.findall(r'^```yaml\n(.*?)^```$', page(name), re.M | re.S)
    (block,) = [text for text in blocks if key in yaml.safe_load(text)]
    return block


@pytest.fixture
def session(tmp_path):
    """A session of a site's copy with another text in one of its files."""

    def make(site, profile, **texts):
        folder = tmp_path / site
        shutil.copytree(ROOT / 'site-config' / site, folder)
        for name, text in texts.items():
            (folder / f'{name}.yaml').write_text(text)
        loaded = load_site(folder)
        return Session('s', tmp_path / 's', loaded, PROFILES[profile], loaded.engine_choices())

    return make


@pytest.mark.parametrize(
    ('name', 'copied', 'metrics'),
    [
        ('tutorials/accept-a-system.md', 'local', ['write@1MiB', 'file_create@private', 'write@1MiB', '']),
        ('reference/contract.md', 'example-lustre', ['write@1MiB', 'write@1MiB', '']),
    ],
)
def test_the_contract_of_a_page_is_one_that_the_site_it_copies_takes(session, name, copied, metrics):
    head = {'version': 1, 'title': 'Acceptance', 'date': '2026-06-30', 'parties': {'customer': 'Pelagia'}}
    text = yaml.safe_dump({**head, **yaml.safe_load(snippet(name, 'criteria'))})
    site = session(copied, 'acceptance', contract=text).site
    _, tests = contract_of_site(site, CHECKS)
    assert [test.metric_name for test in tests] == metrics


def test_the_trial_of_the_page_on_slow_nodes_has_the_one_case_of_its_command_and_output(session):
    text = page('how-to/find-the-slow-one.md')
    trial = yaml.safe_load((ROOT / 'site-config/lab/trial.yaml').read_text())
    trial['file_systems'] = {'scratch': trial['file_systems']['disk']}
    trial.update(yaml.safe_load(snippet('how-to/find-the-slow-one.md', 'trials')))
    asked = re.search(r'^\$ seatrial run --site FOLDER --profile (\w+)$', text, re.MULTILINE)
    seen = session('lab', asked[1], trial=yaml.safe_dump(trial))
    ((check, case),) = [(check, case) for check in CHECKS.values() for case in cases_of(seen, check)]
    assert f'[1/1] x FAIL  {case.name} ' in text
    plan = plan_of(seen, check, case)
    assert {'all', 'group03'} <= {point.label for point in plan.points}
    assert {point.data.bytes_per_task for point in plan.points} == {32 * 2**20}


def test_how_long_a_timed_region_of_a_contract_must_last_is_what_one_page_says():
    acceptance_s = PROFILES['acceptance'].effort.min_s
    text = ' '.join(page('reference/references.md').split())
    assert f' {STORAGE_MIN_S:g} s or more, and {acceptance_s:g} s or more in the profile `acceptance`.' in text
    for name in ('tutorials/accept-a-system.md', 'reference/site-config.md'):
        assert 'references.md#how-a-figure-is-judged)' in page(name)
