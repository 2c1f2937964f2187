"""The paper's claims, to be run by anyone."""
