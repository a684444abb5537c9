"""What ReFrame refuses of settings.py is said before it is started."""

import shutil

import pytest

from seatrial.check.settings import MANUAL, settings_fault
from seatrial.site.load import load


@pytest.fixture
def fault(tmp_path, repository):
    """What is said of the local site's settings with one text replaced."""

    def said(old='', new='', site='local', system='local'):
        shutil.copytree(repository / 'site-config' / site, tmp_path / 'site')
        file = tmp_path / 'site' / 'settings.py'
        assert old in file.read_text()
        file.write_text(file.read_text().replace(old, new, 1))
        return settings_fault(load(tmp_path / 'site'), system)

    return said


def test_settings_that_reframe_takes_have_no_fault(fault):
    assert fault() == ''


def test_modules_need_not_be_on_the_host_that_asks(fault, monkeypatch):
    monkeypatch.delenv('LMOD_CMD', raising=False)
    assert fault("'modules_system': 'lmod'", "'modules_system': 'lmod'", 'example-lustre', 'pelagia') == ''


@pytest.mark.parametrize(
    ('old', 'new', 'what', 'remedy'),
    [
        ("'scheduler': 'local'", "'scheduler': 'slrm'", "no such scheduler: 'slrm'", "did you mean 'slurm'?"),
        ("'launcher': 'local'", "'launcher': 'srunn'", "no such launcher: 'srunn'", "did you mean 'srun'?"),
        ("['builtin']", "['gnu']", "environments 'gnu' are not defined", "write 'environs': ['builtin']"),
        ("'max_jobs'", "'maxjobs'", "'maxjobs' was unexpected", f'see {MANUAL}'),
        ("'scheduler': 'local'", "'schedulr': 'local'", "'scheduler' is a required property", f'see {MANUAL}'),
    ],
)
def test_what_reframe_refuses_is_said_with_file_and_remedy(fault, old, new, what, remedy):
    said = fault(old, new)
    assert said.startswith('settings.py: ReFrame refuses it: ')
    assert what in said and said.endswith(remedy)
