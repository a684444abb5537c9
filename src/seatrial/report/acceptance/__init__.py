"""The protocol of an acceptance: as HTML and Markdown for people, as results.json for programs."""
