"""What people read of a session: pure functions over plans, records and verdicts. Nothing is measured or judged here."""
