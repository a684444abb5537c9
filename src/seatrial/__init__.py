"""Seatrial: acceptance and regression trials for HPC file systems."""

__version__ = '1.0.0'
