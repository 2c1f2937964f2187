"""The names of all plots, and what each shows. Importing this is quick."""

NAMES = {
    "incumbent": "the best value over the budget",
    "curves": "learning curves, joined along promotions",
    "rung_flow": "which origins go on from rung to rung",
    "chances": "where new configurations were drawn from, and the evidence",
    "rung_agreement": "how well a lower rung predicts a higher one",
    "importance": "which parameters matter",
    "timeline": "what each worker did when",
    "ancestry": "where the best configuration comes from",
    "parallel": "configurations as lines across the parameters",
    "prior": "the prior against what was found",
    "compare": "the best values of several studies",
}
FORMATS = ("svg", "png", "pdf")
"""The formats of files."""
