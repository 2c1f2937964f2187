"""The figures of the evaluation: arrays in, the text of an SVG out."""
