"""Reading results."""
