"""What draws: what all drawings are made of, and the curves, dots, maps and time lines that are made of it."""
