"""What a study has found, for people: its trials as a table, and their learning curves."""
