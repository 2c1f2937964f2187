"""The log of a history: its events in order, as objects or as columns, with indexes."""
