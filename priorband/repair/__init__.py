"""Checking a study for damage, and writing a new one from what is intact."""
