"""Models: arrays in, arrays out; they know no trial and no space."""
