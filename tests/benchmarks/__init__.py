"""Tests of the problems to try methods on."""
