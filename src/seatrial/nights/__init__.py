"""Scheduled trials: the job of one night, the state of all nights, notifications of them and their page."""
