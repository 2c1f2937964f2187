"""Reproduce the paper's experiments: run grids of cases, store them, and report on them."""
