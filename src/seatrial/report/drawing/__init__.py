"""Drawings: their parts, and the curves, dots and timelines that consist of them."""
