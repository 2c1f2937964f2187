"""Show the progress of a study: live in a terminal, as lines, or as JSON."""
