"""fio as an engine: a file a kind of workload, and its process, which all share."""
