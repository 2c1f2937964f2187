"""Where we search, and what the expert believes: parameters, beliefs, the space and its prior."""
