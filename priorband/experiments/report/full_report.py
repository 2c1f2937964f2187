"""Write the report on the runs in one or more folders of results."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import final

from priorband.errors import DataError
from priorband.experiments.cases import FIRST_CONFIRMATION_SEED
from priorband.experiments.paper_results import PaperCell, PaperCellKey, authors_traces, paper_cells
from priorband.experiments.presets import (
    ABLATION_PARTS,
    ABLATIONS,
    MODEL_METHODS,
    PARALLEL_METHODS,
    PRIOR_BASELINES,
    SINGLE_METHODS,
)
from priorband.experiments.prior_centres import PAPER_CENTRES_FILE
from priorband.experiments.regret_scales import regret_scales
from priorband.experiments.report.beyond_paper import beyond_sections, is_beyond
from priorband.experiments.report.blocks import Figure, ReportTable, Section
from priorband.experiments.report.costs import cost_section
from priorband.experiments.report.fidelity_correlation import (
    FidelityCorrelations,
    correlation_section,
    fidelity_correlations,
)
from priorband.experiments.report.method_comparison import (
    rank_figure,
    rank_table,
    reached_budget,
    regret_figures,
)
from priorband.experiments.report.pages import write_pages
from priorband.experiments.report.paper_comparison import first_table_section, trace_section
from priorband.experiments.report.prior_figures import prior_section
from priorband.experiments.report.results import Results
from priorband.experiments.report.tables import (
    RULES_TITLES,
    Scope,
    agreement_text,
    measured_cells,
    performance_table,
    seed_count_text,
)
from priorband.experiments.result_store import ResultStore
from priorband.experiments.runner import Folders, case_centres, input_digests
from priorband.plots.drawing.svg import drawing
from priorband.values import frozen

TITLE = "PriorBand's evaluation"


@final
@frozen
class Topic:
    """A group of methods, and the horizons at which the paper compares them."""

    name: str
    title: str
    methods: Sequence[str]
    horizons: tuple[float, ...]
    workers: int = 1
    figure_methods: Sequence[str] = ()
    """Additional methods in the figures."""
    parts: Mapping[str, Sequence[str]] | None = None
    """Subsets of the methods; each is ranked in a figure of its own, with the first method."""


TOPICS = (
    Topic(
        "single",
        "One worker: RS, HB and PriorBand",
        SINGLE_METHODS,
        (5.0, 12.0),
        1,
        PRIOR_BASELINES,
    ),
    Topic("models", "Methods with models", MODEL_METHODS, (10.0, 20.0), 1, ("priorband",)),
    Topic("parallel", "Four workers", PARALLEL_METHODS, (1.0, 5.0), 4),
    Topic("ablations", "Ablations of PriorBand", ABLATIONS, (5.0, 12.0), parts=ABLATION_PARTS),
)


def write_report(
    folders: Folders, more: Sequence[Path] = (), say: Callable[[str], None] = print
) -> Path:
    """Write the report on the results in a folder and in `more` folders; return the page's path."""
    with drawing():
        pass  # fails at once if a package for drawing is missing
    result_folders = [folders.results, *more]
    stores = [ResultStore(folder) for folder in result_folders]
    for store in stores:
        if not store.records:
            raise DataError(
                f"There are no results in {store.folder}. Create some with `priorband bench run`."
            )
        store.check_inputs(
            input_digests([record.case for record in store.records.values()], folders)
        )
        for other in stores:
            store.check_inputs(other.input_digests())
    records = [record for store in stores for record in store.records.values()]
    confirmation = Results(r for r in records if r.case.seed >= FIRST_CONFIRMATION_SEED)
    apart = is_beyond(confirmation)
    results = Results(r for r in records if not apart or r.case.seed < FIRST_CONFIRMATION_SEED)
    runs, benchmarks = len(records), len({record.case.benchmark for record in records})
    say(f"{runs} run{'s' * (runs > 1)} on {benchmarks} benchmark{'s' * (benchmarks > 1)}.")
    parts = list(sections(results, folders, result_folders, say)) if results.records else []
    for kind, part in (("confirmation", confirmation), ("development", results)):
        if is_beyond(part) and (apart or part is results):
            say(f"Comparing guardband with others, {kind} seeds ...")
            scales = regret_scales(part.benchmarks, folders.data, folders.results)
            correlations = fidelity_correlations(part.benchmarks, folders)
            parts += beyond_sections(part, scales, correlations, kind)
    if not results.records:
        costs = cost_section(result_folders)
        parts += [costs] if costs is not None else []
    return write_pages(folders.results / "report", TITLE, parts)


def sections(
    results: Results, folders: Folders, result_folders: Sequence[Path], say: Callable[[str], None]
) -> Iterator[Section]:
    """All sections for which there are runs."""
    printed = paper_cells(folders.paper)
    yield _about(results)
    say("Comparing with the paper's tables and traces ...")
    first_table = first_table_section(results, printed, SINGLE_METHODS, TOPICS[0].horizons)
    if first_table is not None:
        yield first_table
    traces = trace_section(results, authors_traces(folders.paper), SINGLE_METHODS)
    if traces is not None:
        yield traces
    say("Measuring the correlation of fidelities ...")
    correlations = fidelity_correlations(results.benchmarks, folders)
    for topic in (*TOPICS, *_others(results)):
        say(f"Drawing: {topic.title} ...")
        yield from _topic_sections(topic, results, printed, correlations)
    say("Drawing the figures about priors ...")
    yield from _prior_sections(results, folders)
    for last in (
        correlation_section(results.benchmarks, correlations),
        cost_section(result_folders),
    ):
        if last is not None:
            yield last


def _about(results: Results) -> Section:
    paragraphs = [
        "Losses are those after a full training of the incumbent: the configuration with the "
        "lowest loss within the budget, at any fidelity. A budget is a number of full trainings; a "
        "promoted configuration costs only its additional training. Cells show mean ± standard "
        "deviation (standard error) over seeds, with the lowest mean in bold and the paper's "
        "numbers below.",
        "Runs under the paper's text follow the paper. Runs under the published rules follow the "
        "code of the published experiments where it differs from the text, so only they can be "
        "expected to match the paper's numbers.",
    ]
    stand_ins = [entry.title for entry in results.benchmarks if entry.is_stand_in]
    if stand_ins:
        paragraphs.append(
            f"{', '.join(stand_ins)}: these are models fitted to evaluations of the paper's "
            "surrogates, not those surrogates. Use them to compare methods with each other. For "
            "random search and Hyperband their means are within about 0.015 of the paper's; they "
            "are least accurate near the optimum."
        )
    return Section("About this report", paragraphs)


def _others(results: Results) -> Iterator[Topic]:
    """Topics of the methods in none of the paper's tables, one per number of workers."""
    listed = {(m, t.workers) for t in TOPICS for m in (*t.methods, *t.figure_methods)}
    by_workers: dict[int, list[str]] = {}
    for _, _, _, method, workers in results.records:
        if (method, workers) not in listed and method not in by_workers.setdefault(workers, []):
            by_workers[workers].append(method)
    for workers, methods in sorted(by_workers.items()):
        if methods:
            also = [m for m in SINGLE_METHODS if (m, workers) in listed and m not in methods]
            title = f"Other methods, {workers} worker{'s' * (workers > 1)}"
            own = [c for c in results.records if c[3] in methods and c[4] == workers]
            horizon = max(map(results.reached_budget, own))
            yield Topic(f"other-{workers}", title, [*also, *methods], (horizon,), workers)


def _topic_sections(
    topic: Topic,
    results: Results,
    printed: dict[PaperCellKey, PaperCell],
    correlations: FidelityCorrelations,
) -> Iterator[Section]:
    for rules in ("published", "paper"):
        scope = Scope(
            rules, [m for m in topic.methods if results.has(rules, m, topic.workers)], topic.workers
        )
        if not scope.methods or (topic.parts and len(scope.methods) < 2):
            continue
        blocks: list[ReportTable | Figure] = [
            *_tables(topic, scope, results, printed),
            *_rank_and_regret(topic, scope, results, correlations),
        ]
        if blocks:
            paragraphs = [f"Under {RULES_TITLES[rules]}."]
            paragraphs += _agreement_lines(topic, scope, results, printed)
            yield Section(f"{topic.title}, under {RULES_TITLES[rules]}", paragraphs, blocks)


def _tables(
    topic: Topic, scope: Scope, results: Results, printed: dict[PaperCellKey, PaperCell]
) -> Iterator[ReportTable]:
    reached = max(results.reached_budget(c) for c in results.records if scope.includes(c))
    for horizon in [h for h in topic.horizons if h <= reached] or [reached]:
        cells = measured_cells(results, printed, scope, horizon)
        if cells:
            each = "" if scope.workers == 1 else f" for each of {scope.workers} workers"
            budget = f"{horizon:g} full training{'s' * (horizon != 1)}{each}"
            caption = (
                f"Loss at {budget}, under {RULES_TITLES[scope.rules]}, {seed_count_text(cells)}"
            )
            name = f"{topic.name}-{scope.rules}-{horizon:g}x"
            yield performance_table(name, caption, scope, cells)


def _rank_and_regret(
    topic: Topic, scope: Scope, results: Results, correlations: FidelityCorrelations
) -> Iterator[ReportTable | Figure]:
    also = [m for m in topic.figure_methods if results.has(scope.rules, m, scope.workers)]
    shown = Scope(scope.rules, [*scope.methods, *also], scope.workers)
    if reached_budget(results, shown) <= 1.0 or len(shown.methods) < 2:
        return
    name = f"{topic.name}-{scope.rules}"
    table = rank_table(results, shown, correlations, f"ranks-{name}", topic.horizons)
    if table is not None:
        yield table
    for part, methods in (topic.parts or {"": shown.methods[1:]}).items():
        members = [shown.methods[0], *(m for m in methods if m in shown.methods)]
        if len(members) < 2:
            continue
        figure = f"ranks-{name}{'-' * bool(part)}{part}"
        part_scope = Scope(scope.rules, members, scope.workers)
        ranks = rank_figure(results, part_scope, correlations, figure, topic.horizons)
        if ranks is not None:
            yield ranks
    if topic.parts is None:
        yield from regret_figures(results, shown, f"regret-{name}", topic.horizons)


def _agreement_lines(
    topic: Topic, scope: Scope, results: Results, printed: dict[PaperCellKey, PaperCell]
) -> list[str]:
    cells = [c for h in topic.horizons for c in measured_cells(results, printed, scope, h)]
    families = dict.fromkeys(cell.benchmark.family for cell in cells if cell.printed is not None)
    return [
        f"{family}: {agreement_text([c for c in cells if c.benchmark.family == family])}"
        for family in families
    ]


def _prior_sections(results: Results, folders: Folders) -> Iterator[Section]:
    cases = [record.case for runs in results.records.values() for record in runs.values()]
    available = {e.name for e in results.benchmarks if not e.missing(folders.data)}
    published = folders.paper is not None and (folders.paper / PAPER_CENTRES_FILE).is_file()
    usable = [c for c in cases if c.benchmark in available and (c.rules == "paper" or published)]
    section = prior_section(results, folders, case_centres(usable, folders))
    if section is not None:
        yield section
