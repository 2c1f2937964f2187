"""Simulated time: what workers do when, without running anything."""
