"""The whole report: what there is to say of the runs in some folders."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import final

from priorband.errors import DataError
from priorband.experiments.centres import PUBLISHED
from priorband.experiments.figures.svg import drawing
from priorband.experiments.paper import Place, Printed, authors_traces, printed_cells
from priorband.experiments.presets import (
    ABLATION_PARTS,
    ABLATIONS,
    MODELS,
    PARALLEL,
    SIMPLE,
    SINGLE,
)
from priorband.experiments.report.against import cell_by_cell, traces
from priorband.experiments.report.beliefs import belief_section
from priorband.experiments.report.blocks import Figure, ReportTable, Section
from priorband.experiments.report.comparing import rank_figure, rank_table, reach, regret_figures
from priorband.experiments.report.costs import cost_section
from priorband.experiments.report.fidelities import Rankings, fidelity_section, rankings
from priorband.experiments.report.pages import write
from priorband.experiments.report.results import Results
from priorband.experiments.report.tables import CALLED, Scope, agreed, measured, performance, seeds
from priorband.experiments.running import Places, all_centres, made_of
from priorband.experiments.store import Store
from priorband.values import frozen

TITLE = "PriorBand's evaluation"


@final
@frozen
class Topic:
    """Methods that belong together, and the horizons at which the paper compares them."""

    name: str
    title: str
    methods: Sequence[str]
    horizons: tuple[float, ...]
    workers: int = 1
    drawn: Sequence[str] = ()
    """Methods that stand in the figures beside those of the tables."""
    parts: Mapping[str, Sequence[str]] | None = None
    """Methods that are ranked among themselves, beside the first, in a figure each."""


TOPICS = (
    Topic("single", "One worker: RS, HB and PriorBand", SINGLE, (5.0, 12.0), 1, SIMPLE),
    Topic("models", "Methods with models", MODELS, (10.0, 20.0), 1, ("priorband",)),
    Topic("parallel", "Four workers", PARALLEL, (1.0, 5.0), 4),
    Topic("ablations", "Ablations of PriorBand", ABLATIONS, (5.0, 12.0), parts=ABLATION_PARTS),
)


def report(places: Places, more: Sequence[Path] = (), say: Callable[[str], None] = print) -> Path:
    """Write the report of the results in a folder, and of more folders; the page's path."""
    with drawing():
        pass  # better to miss a package now than after minutes
    folders = [places.results, *more]
    stores = [Store(folder) for folder in folders]
    for store in stores:
        if not store.records:
            raise DataError(
                f"There are no results in {store.folder}. Make some with `priorband bench run`."
            )
        store.agree(made_of([record.case for record in store.records.values()], places))
        for other in stores:
            store.agree(other.made_of())
    results = Results(record for store in stores for record in store.records.values())
    runs, of = sum(map(len, results.records.values())), len(results.benchmarks)
    say(f"{runs} run{'s' * (runs > 1)} of {of} benchmark{'s' * (of > 1)}.")
    return write(places.results / "report", TITLE, list(sections(results, places, folders, say)))


def sections(
    results: Results, places: Places, folders: Sequence[Path], say: Callable[[str], None]
) -> Iterator[Section]:
    """All that the runs allow to say."""
    printed = printed_cells(places.paper)
    yield _about(results)
    say("Comparing with the paper's tables and traces ...")
    made = cell_by_cell(results, printed, SINGLE, TOPICS[0].horizons)
    if made is not None:
        yield made
    made = traces(results, authors_traces(places.paper), SINGLE)
    if made is not None:
        yield made
    say("Measuring how fidelities correlate ...")
    found = rankings(results.benchmarks, places)
    for topic in (*TOPICS, *_others(results)):
        say(f"Drawing: {topic.title} ...")
        yield from _topic(topic, results, printed, found)
    say("Drawing priors and how far they are trusted ...")
    yield from _beliefs(results, places)
    for last in (fidelity_section(results.benchmarks, found), cost_section(folders)):
        if last is not None:
            yield last


def _about(results: Results) -> Section:
    words = [
        "Losses are those after a full training of the configuration with the lowest loss seen, "
        "at any fidelity, within the budget. A budget counts full trainings; a promoted "
        "configuration pays only what it adds. Cells show mean ± standard deviation (standard "
        "error) over seeds, the lowest mean in bold, and below it what the paper prints.",
        "Runs under the paper's text follow the paper; runs under the published rules follow what "
        "the code behind its figures did where that departed, so only they can be expected to "
        "match its numbers.",
    ]
    stand_ins = [entry.title for entry in results.benchmarks if entry.is_stand_in]
    if stand_ins:
        words.append(
            f"{', '.join(stand_ins)}: these are models fitted to evaluations of the paper's "
            "surrogates, not those surrogates. They serve to compare methods with each other. For "
            "random search and Hyperband their means are within about 0.015 of the paper's; they "
            "are weakest near the optimum."
        )
    return Section("What is shown", words)


def _others(results: Results) -> Iterator[Topic]:
    """Methods that belong to none of the paper's tables, or ran with other numbers of workers."""
    known = {(m, t.workers) for t in TOPICS for m in (*t.methods, *t.drawn)}
    crews: dict[int, list[str]] = {}
    for _, _, _, method, workers in results.records:
        if (method, workers) not in known and method not in crews.setdefault(workers, []):
            crews[workers].append(method)
    for workers, methods in sorted(crews.items()):
        if methods:
            also = [m for m in SINGLE if (m, workers) in known and m not in methods]
            title = f"Other methods, {workers} worker{'s' * (workers > 1)}"
            own = [c for c in results.records if c[3] in methods and c[4] == workers]
            horizon = max(map(results.reach, own))
            yield Topic(f"other-{workers}", title, [*also, *methods], (horizon,), workers)


def _topic(
    topic: Topic, results: Results, printed: dict[Place, Printed], found: Rankings
) -> Iterator[Section]:
    for rules in ("published", "paper"):
        scope = Scope(
            rules, [m for m in topic.methods if results.has(rules, m, topic.workers)], topic.workers
        )
        if not scope.methods or (topic.parts and len(scope.methods) < 2):
            continue
        blocks: list[ReportTable | Figure] = [
            *_tables(topic, scope, results, printed),
            *_figures(topic, scope, results, found),
        ]
        if blocks:
            words = [f"Under {CALLED[rules]}.", *_agreement(topic, scope, results, printed)]
            yield Section(f"{topic.title}, under {CALLED[rules]}", words, blocks)


def _tables(
    topic: Topic, scope: Scope, results: Results, printed: dict[Place, Printed]
) -> Iterator[ReportTable]:
    reached = max(results.reach(c) for c in results.records if scope.holds(c))
    for horizon in [h for h in topic.horizons if h <= reached] or [reached]:
        cells = measured(results, printed, scope, horizon)
        if cells:
            each = "" if scope.workers == 1 else f" for each of {scope.workers} workers"
            budget = f"{horizon:g} full training{'s' * (horizon != 1)}{each}"
            caption = f"Loss at {budget}, under {CALLED[scope.rules]}, {seeds(cells)}"
            name = f"{topic.name}-{scope.rules}-{horizon:g}x"
            yield performance(name, caption, scope, cells)


def _figures(
    topic: Topic, scope: Scope, results: Results, found: Rankings
) -> Iterator[ReportTable | Figure]:
    also = [m for m in topic.drawn if results.has(scope.rules, m, scope.workers)]
    drawn = Scope(scope.rules, [*scope.methods, *also], scope.workers)
    if reach(results, drawn) <= 1.0 or len(drawn.methods) < 2:
        return
    name = f"{topic.name}-{scope.rules}"
    table = rank_table(results, drawn, found, f"ranks-{name}", topic.horizons)
    if table is not None:
        yield table
    for part, methods in (topic.parts or {"": drawn.methods[1:]}).items():
        some = [drawn.methods[0], *(m for m in methods if m in drawn.methods)]
        if len(some) < 2:
            continue
        figure = f"ranks-{name}{'-' * bool(part)}{part}"
        beside = Scope(scope.rules, some, scope.workers)
        ranks = rank_figure(results, beside, found, figure, topic.horizons)
        if ranks is not None:
            yield ranks
    if topic.parts is None:
        yield from regret_figures(results, drawn, f"regret-{name}", topic.horizons)


def _agreement(
    topic: Topic, scope: Scope, results: Results, printed: dict[Place, Printed]
) -> list[str]:
    cells = [c for h in topic.horizons for c in measured(results, printed, scope, h)]
    families = dict.fromkeys(cell.benchmark.family for cell in cells if cell.printed is not None)
    return [
        f"{family}: {agreed([c for c in cells if c.benchmark.family == family])}"
        for family in families
    ]


def _beliefs(results: Results, places: Places) -> Iterator[Section]:
    cases = [record.case for runs in results.records.values() for record in runs.values()]
    here = {e.name for e in results.benchmarks if not e.missing(places.data)}
    told = places.paper is not None and (places.paper / PUBLISHED).is_file()
    known = [c for c in cases if c.benchmark in here and (c.rules == "paper" or told)]
    made = belief_section(results, places, all_centres(known, places))
    if made is not None:
        yield made
