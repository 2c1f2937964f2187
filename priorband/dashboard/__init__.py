"""The dashboard: a local web page over one or many studies."""
