"""Tests of studies that are damaged or forged, and of what can be saved."""
