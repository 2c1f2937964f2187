// The chances of the sources of new configurations over budget, and the evidence behind them.

import { html, useMemo } from "../preact.js";
import { useAnalysis, useStudy } from "../store.js";
import { color, originColorName } from "../theme.js";
import { number, percent, visible, whole } from "../format.js";
import { Select } from "./choice.js";
import { Plot } from "./plot.js";
import { clipped, endLabels, line, toPixels, verticalMarks } from "./paint.js";
import { extent, roomy } from "./ranges.js";
import { unready, usePasses } from "./use-filtered.js";

const TRACES = [
  ["prior_score", "prior", "origin-prior", []],
  ["incumbent_score", "incumbent", "origin-incumbent", [5, 3]],
];

/** The draws on one rung, or on all if `wanted` is null: positions in the analysis's columns. */
function useDraws(data, wanted) {
  const passes = usePasses();
  return useMemo(() => {
    if (!data) return { rung: null, rungs: [], at: [] };
    const rungs = [...new Set(data.rung)].sort((a, b) => a - b);
    const rung = rungs.includes(wanted) ? wanted : null;
    const known = (i) => (passes === null || passes[data.trial[i]]) && data.probability.some((row) => row[i] !== null);
    const at = data.trial.map((_, i) => i).filter((i) => (rung === null || data.rung[i] === rung) && known(i));
    return { rung, rungs, at };
  }, [data, wanted, passes]);
}

/** Marks where the prior was changed, and a sentence that says so. */
function usePriorChanges() {
  const { data } = useAnalysis("prior-changes");
  return useMemo(() => {
    const spent = data?.spent ?? [];
    const marks = spent.map((x, i) => ({ x, text: spent.length === 1 ? "prior changed" : `prior ${i + 2}` }));
    const said = spent.length ? ` The prior was changed after ${spent.map((one) => number(one, 3)).join(", ")} trainings.` : "";
    return { marks, said };
  }, [data]);
}

export function ChancesChart({ height = 220 }) {
  const { params, setParams, openTrial, problem } = useStudy();
  const found = useAnalysis("chances");
  const { data } = found;
  const { rung, rungs, at } = useDraws(data, params.rung === undefined ? null : Number(params.rung));
  const { rungs: fidelities, name } = problem.fidelity;
  const stack = useMemo(() => (data ? stacked(data, at) : []), [data, at]);
  const spent = at.map((i) => data.spent[i]);
  const { marks, said } = usePriorChanges();
  const last = Math.max(extent(spent)?.[1] ?? 1, ...marks.map((one) => one.x));
  const points = useMemo(() => ({ x: spent, y: at.map((i) => topOf(data, i)) }), [data, at]);
  const describe = (place) => {
    const i = at[place];
    const shares = data.sources.map((source, row) => `${source} ${percent(data.probability[row][i] ?? 0)}`);
    return `trial ${data.trial[i]}, ${number(data.spent[i], 3)} trainings: ${shares.join(", ")}; drawn from ${data.origin[i]}`;
  };
  const paint = (plot, context) => {
    clipped(plot, context, () => {
      for (const layer of stack) paintLayer(plot, context, layer, spent);
    });
    verticalMarks(plot, context, marks);
    endLabels(plot, context, stack.filter((one) => one.share > 0.04).map((one) => ({
      y: one.middle, text: visible(one.source), fill: color(originColorName(one.source)),
    })));
  };
  const message = at.length
    ? `At the end, ${stack.filter((one) => one.share > 0).map((one) => `${one.source} ${percent(one.share)}`).join(", ")}.`
    : "";
  const some = data && data.decisions > data.repeated ? ` ${whole(data.repeated)} of ${whole(data.decisions)} draws.` : "";
  return html`
    <${Plot} title="Chances of new configurations" summary=${`${message}${some}${said}`} height=${height} right=${72}
        empty=${unready(found) ?? (at.length ? null : "The method of this study has no such chances, or nothing was drawn yet.")}
        x=${{ range: [Math.min(extent(spent)?.[0] ?? 0, last * 0.999), last || 1], label: "budget, in full trainings" }}
        y=${{ range: [0, 1], format: percent, ticks: [0, 0.25, 0.5, 0.75, 1] }}
        points=${points} describe=${describe} open=${(place) => openTrial(data.trial[at[place]])}
        paint=${paint} drawn=${[stack, marks]}
        rows=${() => ({
          head: ["trial", visible(name), "trainings", ...(data?.sources ?? []), "drawn from"],
          rows: at.map((i) => [data.trial[i], fidelities[data.rung[i]], data.spent[i], ...data.probability.map((row) => row[i]), data.origin[i]]),
        })}
        tools=${rungs.length > 1 && html`
          <${Select} label=${`drawn at ${visible(name)}`} value=${rung === null ? "" : String(rung)} onChange=${(value) => setParams({ rung: value || null })}
                     options=${[["", "all"], ...rungs.map((one) => [String(one), fidelities[one] === undefined ? "other" : number(fidelities[one])])]} />`} />`;
}

function topOf(data, i) {
  const row = data.sources.indexOf("prior");
  const below = data.probability.slice(0, Math.max(row, 0)).reduce((sum, one) => sum + (one[i] ?? 0), 0);
  return row < 0 ? 0.5 : below + (data.probability[row][i] ?? 0) / 2;
}

/** The layers from the bottom to the top, each with its lower and upper edge. */
function stacked(data, at) {
  const below = new Float64Array(at.length);
  return data.sources.map((source, row) => {
    const low = Float64Array.from(below);
    at.forEach((i, place) => (below[place] += data.probability[row][i] ?? 0));
    const high = Float64Array.from(below);
    const end = at.length - 1;
    return { source, low, high, share: end < 0 ? 0 : high[end] - low[end], middle: end < 0 ? 0 : (high[end] + low[end]) / 2 };
  });
}

function paintLayer(plot, context, layer, spent) {
  const [x, y] = toPixels(plot);
  if (spent.length === 0) return;
  const name = originColorName(layer.source);
  const right = plot.bbox.left + plot.bbox.width;
  context.save();
  context.beginPath();
  const edge = (values, i) => {
    context.lineTo(x(spent[i]), y(values[i]));
    context.lineTo(i + 1 < spent.length ? x(spent[i + 1]) : right, y(values[i]));
  };
  for (let i = 0; i < spent.length; i++) edge(layer.high, i);
  for (let i = spent.length - 1; i >= 0; i--) {
    context.lineTo(i + 1 < spent.length ? x(spent[i + 1]) : right, y(layer.low[i]));
    context.lineTo(x(spent[i]), y(layer.low[i]));
  }
  context.closePath();
  context.globalAlpha = 0.22;
  context.fillStyle = color(name);
  context.fill();
  context.restore();
  line(plot, context, spent, layer.high, { stroke: color(name), stepped: true, width: 1.25, until: plot.scales.x.max });
}

export function EvidenceChart({ height = 220 }) {
  const { openTrial } = useStudy();
  const found = useAnalysis("chances");
  const { data } = found;
  const passes = usePasses();
  const at = useMemo(
    () => (data ? data.trial.map((_, i) => i).filter((i) => data.prior_score[i] !== null && (passes === null || passes[data.trial[i]])) : []),
    [data, passes],
  );
  const spent = at.map((i) => data.spent[i]);
  const all = at.flatMap((i) => [data.prior_score[i], data.incumbent_score[i]]);
  const points = useMemo(() => ({ x: [...spent, ...spent], y: TRACES.flatMap(([key]) => at.map((i) => data[key][i])) }), [at]);
  const { marks, said } = usePriorChanges();
  const lead = at.length ? data.prior_score[at.at(-1)] - data.incumbent_score[at.at(-1)] : 0;
  const describe = (place) => {
    const i = at[place % at.length];
    return `trial ${data.trial[i]}, ${number(data.spent[i], 3)} trainings: log score of the prior ${number(data.prior_score[i])}, of the incumbent ${number(data.incumbent_score[i])}, on ${data.scored[i]} trials of rung ${data.scored_rung[i]}`;
  };
  const paint = (plot, context) => {
    clipped(plot, context, () => {
      for (const [key, , name, dash] of TRACES) {
        line(plot, context, spent, at.map((i) => data[key][i]), { stroke: color(name), dash, width: 1.75, stepped: true, until: plot.scales.x.max });
      }
    });
    verticalMarks(plot, context, marks);
    endLabels(plot, context, TRACES.map(([key, text, name]) => ({ y: data[key][at.at(-1)], text, fill: color(name) })));
  };
  const message = at.length
    ? `The best trials fit the ${lead > 0 ? "prior" : "incumbent"} better${Math.abs(lead) < 1 ? ", by little" : ""}: log scores differ by ${number(Math.abs(lead), 3)} now.`
    : "";
  return html`
    <${Plot} title="Evidence for the prior" summary=${`${message}${said}`} height=${height} right=${72}
        empty=${unready(found) ?? (at.length ? null : "No scores yet: the method scores the prior once a bracket has results, or does not weigh it.")}
        x=${{ range: roomy(extent(spent), false, 0), label: "budget, in full trainings" }} y=${{ range: roomy(extent(all), false, 0.08) }}
        points=${points} describe=${describe} open=${(place) => openTrial(data.trial[at[place % at.length]])}
        paint=${paint} drawn=${[at, marks]}
        rows=${() => ({
          head: ["trial", "trainings", "prior", "incumbent", "scored trials", "rung"],
          rows: at.map((i) => [data.trial[i], data.spent[i], data.prior_score[i], data.incumbent_score[i], data.scored[i], data.scored_rung[i]]),
        })} />`;
}
