"""Drawings: their parts, and the curves, dots and time lines made of them."""
