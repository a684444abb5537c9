"""Drawings: their parts, and the curves, dots, maps and time lines made of them."""
