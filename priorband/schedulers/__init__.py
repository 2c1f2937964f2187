"""A scheduler decides where the next evaluation goes; it never invents a configuration."""
