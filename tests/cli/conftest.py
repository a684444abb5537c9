"""The commands on the small site, as fixtures of their names."""

from functools import partial

import pytest


def on_the_site(name, has_checks=False):
    @pytest.fixture(name=name)
    def run(command, on_site, site):
        return partial(on_site, name) if has_checks else partial(command, name, f'--site={site.folder}')

    return run


baseline, doctor, verify = (on_the_site(name, has_checks=True) for name in ('baseline', 'doctor', 'verify'))
clean, compare, status, trend = map(on_the_site, ('clean', 'compare', 'status', 'trend'))
