"""The ways to show how a study goes."""
