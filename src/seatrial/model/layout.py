"""Layouts: how a file is spread over the targets of a file system."""

from typing import NamedTuple, Optional


class Layout(NamedTuple):
    """A layout by the name that the site gives it; a field that is None is left to the file system's default.

    stripe_count: objects a file is spread over (-1: all targets); stripe_size: bytes.
    """

    name: str = 'default'
    stripe_count: Optional[int] = None
    stripe_size: Optional[int] = None
    pool: Optional[str] = None

    @property
    def is_default(self) -> bool:
        """Whether nothing is asked beyond what the file system gives by itself."""
        return self.stripe_count is None and self.stripe_size is None and self.pool is None
