"""The report: tables and figures of finished runs, compared with the paper's results."""
