"""Tests of what is stored: damaged, hostile, old."""
