"""Models and their numerics. They work on arrays only, not on trials or spaces."""
