"""Tests of durable studies."""
