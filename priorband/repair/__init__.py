"""Checking a study for damage, and writing a new study from what is intact.

`check.py` is the entry point. It scans what is left of a study (`scan.py`), verifies the records
that were found (`verify.py`) and rebuilds a study from those that are intact (`rebuild.py`).
"""
