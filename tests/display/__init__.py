"""Tests of display."""
