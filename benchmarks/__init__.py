"""Measurements of what things cost, each a command of its own."""
