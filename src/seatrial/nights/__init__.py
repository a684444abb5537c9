"""Scheduled trials: the job of a night, how the nights stand, their notifications and their page."""
