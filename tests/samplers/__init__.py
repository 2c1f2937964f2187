"""Tests of samplers."""
