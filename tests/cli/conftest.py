"""The small site that commands are tried on."""

from site_fixtures import allocation, command, judged, leave_records, on_site, past, site  # noqa: F401
