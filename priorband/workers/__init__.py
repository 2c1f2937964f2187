"""Workers, which evaluate the trials of a study. `tune` starts them; see pool.py for the way."""
