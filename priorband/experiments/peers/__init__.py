"""Other libraries' methods on our benchmarks, charged for their trainings as ours are."""
