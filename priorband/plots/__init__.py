"""Figures: the drawing code that the evaluation and the plots of a study share."""
