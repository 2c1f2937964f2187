"""Study files: a whole study in one TOML file, such as a command to run and its search space."""
