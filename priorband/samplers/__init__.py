"""A sampler invents what to evaluate; it never decides where."""
