"""Seatrial: acceptance and regression trials for HPC file systems."""

__version__ = '0.1.0'
