"""One `seatrial run`: opened from a command line, carried out, followed, and read again from its folder."""
