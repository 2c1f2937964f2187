"""Tests of how studies are stored."""
