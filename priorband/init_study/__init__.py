"""The first study file of a script, from its own options or from a W&B sweep."""
