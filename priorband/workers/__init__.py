"""Those who evaluate trials."""
