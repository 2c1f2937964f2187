"""Tests of the space: parameters, beliefs, densities and the prior."""
