"""Durable studies: any number of processes ask and tell through one journal."""
