"""Reports of a session: pure functions over plans, records and verdicts. Nothing here measures or judges."""
