"""Why each trial was chosen, promoted or stopped, from a study's method and history."""
