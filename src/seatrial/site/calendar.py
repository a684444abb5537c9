"""The due times of a scheduled trial: a time of day on some days of the week, in this host's time zone."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import islice, takewhile
from typing import NamedTuple

DAYS = ('mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun')


class Calendar(NamedTuple):
    """A time of day, which is due an hour early if clocks skip it, and only the first time if it comes twice."""

    hour: int
    minute: int
    days: tuple[str, ...] = DAYS  # one or more of DAYS

    @property
    def cron(self) -> str:
        """The five fields of crontab(5)."""
        days = '*' if set(self.days) == set(DAYS) else ','.join(str((DAYS.index(day) + 1) % 7) for day in self.days)
        return f'{self.minute} {self.hour} * * {days}'

    @property
    def words(self) -> str:
        """'every day at 02:00', 'mon, thu at 02:00'"""
        days = 'every day' if set(self.days) == set(DAYS) else ', '.join(day for day in DAYS if day in self.days)
        return f'{days} at {self.hour:02d}:{self.minute:02d}'

    def after(self, moment: datetime, count: int = 1) -> list[datetime]:
        """The first `count` due times later than a moment, which needs a time zone."""
        return list(islice(self._due_after(moment), count))

    def between(self, since: datetime, until: datetime) -> list[datetime]:
        """Every due time later than `since` and not later than `until`."""
        return list(takewhile(lambda due: due <= until, self._due_after(since)))

    def _due_after(self, moment: datetime) -> Iterator[datetime]:
        day = moment.astimezone().date() - timedelta(days=1)
        while True:
            due = datetime(day.year, day.month, day.day, self.hour, self.minute).astimezone()
            if due > moment and DAYS[day.weekday()] in self.days:
                yield due
            day += timedelta(days=1)
