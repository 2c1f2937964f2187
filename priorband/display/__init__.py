"""Showing how a study is going: in a terminal, as lines, or as JSON."""
