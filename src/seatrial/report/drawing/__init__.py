"""What draws: scales, markers, curves, maps and time lines, as places on paper."""
