"""The report card of a prior: whether it helped, by parameter, and what to believe next."""
