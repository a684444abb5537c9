"""Scheduled trials: the job of a night, the state of the nights, their notifications and their page."""
