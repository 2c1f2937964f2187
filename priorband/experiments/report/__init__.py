"""The report: what runs come to, beside what the paper prints."""
