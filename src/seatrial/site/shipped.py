"""What comes along with Seatrial beside its library: checks, examples of sites, dashboards and documentation.

In a checkout they lie at its top, in an installed wheel in the package; ci/wheel.py puts them there.
"""

import os
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

import seatrial
from seatrial.model.owned import refusal_of_code
from seatrial.site import yaml_file
from seatrial.site.error import raise_any
from seatrial.site.model import TRIAL_FILE, TrialFile

PACKAGE = Path(seatrial.__file__).parent
OWN_CHECKS = 'checks'
"""Where a site has check files of its own if its trial.yaml does not say."""


def shipped(name: str) -> Path:
    """The file or folder of that name at the top of the repository, as it came along."""
    installed = PACKAGE / 'shipped'
    return (installed if installed.is_dir() else PACKAGE.parents[1]) / name


def check_folders(site: str | os.PathLike[str]) -> list[str]:
    """The folders of the check files of a site: those that came along, and `checks` of its trial.yaml. settings.py
    asks this too, so nothing but that key is judged here. Raises SiteError where others may change trial.yaml."""
    home, along = Path(site).resolve(), str(shipped('checks'))
    file = home / TRIAL_FILE
    if not file.exists():
        return [along]
    raise_any([refusal_of_code(os.fspath(site), [str(file)])])
    given = _given(yaml_file.read(file), home)
    if given is None:
        own = home / OWN_CHECKS
        given = (str(own),) if own.is_dir() else ()
    return [along, *given]


def _given(data: Any, home: Path) -> tuple[str, ...] | None:
    """What the key has; None too where it is wrong, which is said when the site is loaded."""
    field = TrialFile.model_fields['checks']
    reader: TypeAdapter[tuple[str, ...] | None] = TypeAdapter(field.rebuild_annotation())
    try:
        return reader.validate_python(data.get('checks'), context=home) if isinstance(data, dict) else None
    except ValidationError:
        return None
