"""Tests of the parts that work with another package, one folder each: scripts/test-extra."""
