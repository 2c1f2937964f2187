// The best configuration over budget or time, with all results behind it.

import { html, useMemo } from "../preact.js";
import { useStudy } from "../store.js";
import { color } from "../theme.js";
import { duration, number, visible, whole } from "../format.js";
import { Choice, Toggle } from "./choice.js";
import { Plot } from "./plot.js";
import { clipped, dots, endLabels, line } from "./paint.js";
import { extent, robustExtent, roomy } from "./ranges.js";
import { unready, useFiltered } from "./use-filtered.js";

const NONE = { trial: [], spent: [], time: [], value: [], fidelity: [] };

export function IncumbentChart({ height = 260 }) {
  const { params, setParams, openTrial, problem } = useStudy();
  const found = useFiltered("incumbent");
  const results = useFiltered("results").data;
  const timed = params.over === "time";
  const logged = params.best === "log";
  const data = found.data;
  const any = data?.any_fidelity ?? NONE;
  const full = data?.full ?? NONE;
  const points = useMemo(() => stepPoints(any, full, timed), [data, timed]);
  const last = data ? (timed ? data.elapsed ?? lastOf(any.time) : data.spent) : 0;
  const cloud = useMemo(() => ({
    x: results ? (timed ? results.time : results.spent) : [],
    y: results?.value ?? [],
  }), [results, timed]);
  const worst = problem.maximize ? "low" : "high";
  const spread = robustExtent([...cloud.y, ...any.value, ...full.value].filter((one) => one !== null), worst);
  const log = logged && spread !== null && spread[0] > 0;
  const lastX = Math.max(last ?? 0, extent(cloud.x)?.[1] ?? 0, extent(points.x)?.[1] ?? 0);
  const best = full.trial.length ? full : any;
  const format = timed ? duration : (value) => number(value, 3);
  const message = best.trial.length
    ? `${number(best.value.at(-1))} by trial ${best.trial.at(-1)}, after ${timed ? duration(best.time.at(-1)) : `${number(best.spent.at(-1), 3)} of ${number(data.spent, 3)} trainings`}.`
    : "No trial has succeeded yet.";
  const paint = (plot, context) => {
    clipped(plot, context, () => {
      dots(plot, context, cloud.x, cloud.y, { fills: [color("text-faint")], alpha: cloud.x.length > 2000 ? 0.25 : 0.5, size: cloud.x.length > 2000 ? 2 : 2.5 });
      line(plot, context, timed ? any.time : any.spent, any.value, { stroke: color("series-2"), stepped: true, until: lastX, dash: [4, 3], width: 1.5 });
      line(plot, context, timed ? full.time : full.spent, full.value, { stroke: color("series-1"), stepped: true, until: lastX, width: 2 });
    });
    endLabels(plot, context, [
      ...(full.value.length ? [{ y: full.value.at(-1), text: "in full", fill: color("series-1") }] : []),
      ...(any.value.length ? [{ y: any.value.at(-1), text: "any fidelity", fill: color("series-2") }] : []),
    ]);
  };
  const sampled = results && results.ended > results.trial.length ? ` ${whole(results.trial.length)} of ${whole(results.ended)} results are drawn.` : "";
  return html`
    <${Plot} title="Best value" summary=${`${message}${sampled}${found.note}`} height=${height} right=${72}
        empty=${unready(found) ?? (points.x.length ? null : "No trial has succeeded yet.")}
        x=${{ range: [0, lastX || 1], label: timed ? "time since the start" : "budget, in full trainings", format }}
        y=${{ range: roomy(spread, log), log }}
        points=${points} describe=${(i) => points.text[i]} open=${(i) => openTrial(points.trial[i])}
        paint=${paint} drawn=${[found.data, results, timed]}
        rows=${() => ({
          head: ["best", "trial", "value", visible(problem.fidelity.name), "trainings", "seconds"],
          rows: points.rows,
        })}
        tools=${html`
          <${Toggle} label="log" on=${logged} onChange=${(on) => setParams({ best: on ? "log" : null })} />
          <${Choice} label="Over" value=${timed ? "time" : "budget"} options=${[["budget", "Budget"], ["time", "Time"]]}
                     onChange=${(value) => setParams({ over: value === "time" ? value : null })} />`} />`;
}

function lastOf(list) {
  return list.length ? list.at(-1) : 0;
}

function stepPoints(any, full, timed) {
  const all = [];
  for (const [name, steps] of [["any fidelity", any], ["in full", full]]) {
    steps.trial.forEach((trial, i) => {
      const x = timed ? steps.time[i] : steps.spent[i];
      if (x === null) return;
      all.push({ x, y: steps.value[i], trial, row: [name, trial, steps.value[i], steps.fidelity[i], steps.spent[i], steps.time[i]],
        text: `trial ${trial}: ${number(steps.value[i])}, best ${name}, fidelity ${number(steps.fidelity[i])}, after ${timed ? duration(x) : `${number(x, 3)} trainings`}` });
    });
  }
  all.sort((a, b) => a.x - b.x);
  return {
    x: all.map((one) => one.x), y: all.map((one) => one.y), trial: all.map((one) => one.trial),
    text: all.map((one) => one.text), rows: all.map((one) => one.row),
  };
}
