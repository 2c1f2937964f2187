"""The plan of a study: what its method will do, before it does it."""
