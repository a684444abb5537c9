"""The typed model of a site: trial.yaml checked before anything starts."""
