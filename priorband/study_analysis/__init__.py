"""Analysis of one study: pure functions from what has happened to numbers.

`study_data(study)` reads a study, in memory or stored, as of one moment. Each other function takes
that and returns a value whose fields are numbers, texts and numpy arrays. `as_json` makes plain
data of any of them. Nothing here draws or prints.

    incumbent_over_budget  the best configuration over budget and time
    learning_curves        curves joined along promotions
    rung_flow              how many trials started, were promoted, stopped, by rung and origin
    chances_over_budget    the probabilities of the sources of new configurations, and why
    rung_agreement         how well a lower rung predicts the order on a higher one
    parameter_importance   which parameters decide whether a configuration is good
    worker_timeline        what each worker did when, idle time, lost attempts
    results_over_budget    the result of each trial over budget and time
    ancestry               where a configuration comes from
    prior_changes          when the prior was changed
    prior_report           whether the prior helps, by parameter, and what to believe next
    config_columns         configurations and results as columns
    sampled_origins        where the last drawn configurations are from
    compare_incumbents     several studies on one axis

Values have the sign that the objective uses: they are higher for better trials where a study
maximises. Times are in seconds since the study was created, NaN where they are unknown.
"""

from priorband.study_analysis.ancestry import Lineage as Lineage
from priorband.study_analysis.ancestry import ancestry as ancestry
from priorband.study_analysis.attempts import ENDINGS as ENDINGS
from priorband.study_analysis.attempts import AttemptColumns as AttemptColumns
from priorband.study_analysis.attempts import TrialTimes as TrialTimes
from priorband.study_analysis.chances import ChancesOverBudget as ChancesOverBudget
from priorband.study_analysis.chances import chances_over_budget as chances_over_budget
from priorband.study_analysis.compare import IncumbentComparison as IncumbentComparison
from priorband.study_analysis.compare import compare_incumbents as compare_incumbents
from priorband.study_analysis.config_columns import ConfigTable as ConfigTable
from priorband.study_analysis.config_columns import ParameterColumn as ParameterColumn
from priorband.study_analysis.config_columns import config_columns as config_columns
from priorband.study_analysis.curves import CurveColumns as CurveColumns
from priorband.study_analysis.curves import learning_curves as learning_curves
from priorband.study_analysis.curves import study_points as study_points
from priorband.study_analysis.importance import ParameterImportance as ParameterImportance
from priorband.study_analysis.importance import parameter_importance as parameter_importance
from priorband.study_analysis.incumbent import IncumbentHistory as IncumbentHistory
from priorband.study_analysis.incumbent import IncumbentSteps as IncumbentSteps
from priorband.study_analysis.incumbent import incumbent_over_budget as incumbent_over_budget
from priorband.study_analysis.json_form import as_json as as_json
from priorband.study_analysis.prior_changes import PriorChanges as PriorChanges
from priorband.study_analysis.prior_changes import prior_changes as prior_changes
from priorband.study_analysis.prior_report import prior_report as prior_report
from priorband.study_analysis.recent_draws import best_losses as best_losses
from priorband.study_analysis.recent_draws import sampled_origins as sampled_origins
from priorband.study_analysis.results_over_budget import ResultsOverBudget as ResultsOverBudget
from priorband.study_analysis.results_over_budget import results_over_budget as results_over_budget
from priorband.study_analysis.rung_agreement import RungAgreement as RungAgreement
from priorband.study_analysis.rung_agreement import rung_agreement as rung_agreement
from priorband.study_analysis.rung_flow import RungFlow as RungFlow
from priorband.study_analysis.rung_flow import rung_flow as rung_flow
from priorband.study_analysis.source import StudyData as StudyData
from priorband.study_analysis.source import StudyReader as StudyReader
from priorband.study_analysis.source import study_data as study_data
from priorband.study_analysis.timeline import WorkerSpans as WorkerSpans
from priorband.study_analysis.timeline import worker_timeline as worker_timeline
from priorband.study_analysis.trial_columns import STATUSES as STATUSES
from priorband.study_analysis.trial_columns import TrialColumns as TrialColumns
