"""Settings that the kernel shows as small files below /proc and /sys: read without asking any file system."""

from typing import Dict, Iterable


def unknown(why: str) -> str:
    """The value of a setting that this user cannot see."""
    return f'unknown: {why}'


def read_settings(prefix: str, directory: str, names: Iterable[str]) -> Dict[str, str]:
    """The values by 'prefix name'. A name that this kernel does not have is left out."""
    found = {}
    for name in names:
        try:
            with open(f'{directory}/{name}', encoding='utf-8', errors='replace') as stream:
                found[f'{prefix} {name}'] = ','.join(stream.read().split('\n')).strip(', ')
        except FileNotFoundError:
            continue
        except OSError as error:
            found[f'{prefix} {name}'] = unknown(error.strerror or 'it cannot be read')
    return found
