"""Adds to a wheel the files that seatrial.site.load looks for, and the commit that the wheel is built from."""

import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ALONG = (
    'checks/**/*.py',
    'docs/**/*.md',
    'docs/reference/results.schema.json',
    'reports/grafana/*',
    'site-config/example-lustre/*',
    'site-config/sample/*',
)
DESCRIBE = ('git', 'describe', '--always', '--abbrev=12', '--exclude=*', '--dirty=+changes')


class Wheel(BuildHookInterface):  # type: ignore[type-arg]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the files, except to an editable installation, which finds them in the checkout."""
        if version != 'standard':
            return
        forced, top = build_data['force_include'], Path(self.root)
        for file in (file for pattern in ALONG for file in top.glob(pattern)):
            forced[str(file)] = f'seatrial/shipped/{file.relative_to(top)}'
        # An archive of ci/bundle has no .git, but the file COMMIT already.
        if (top / '.git').exists() and shutil.which('git'):
            self.folder = tempfile.TemporaryDirectory()
            made = Path(self.folder.name, 'COMMIT')
            made.write_text(subprocess.run(DESCRIBE, cwd=top, capture_output=True, text=True).stdout)
            forced[str(made)] = 'seatrial/COMMIT'
