"""Seatrial: acceptance and regression trials for HPC file systems."""

__version__ = '0.2.0'
