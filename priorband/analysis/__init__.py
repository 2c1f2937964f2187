"""Statistics of finished runs: incumbent curves, ranks, regret, correlations and summaries."""
