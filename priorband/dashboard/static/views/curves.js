// Learning curves, joined along promotions. The best are in colour and named, the others are grey.

import { html, useMemo } from "../preact.js";
import { useStudy } from "../store.js";
import { color, originColorName } from "../theme.js";
import { number, visible, whole } from "../format.js";
import { Choice, Select } from "../charts/choice.js";
import { Plot } from "../charts/plot.js";
import { clipped, endLabels, line, ratio, toPixels } from "../charts/paint.js";
import { extent, robustExtent, roomy } from "../charts/ranges.js";
import { unready, useColumns } from "../charts/use-filtered.js";

export const curves = { id: "curves", title: "Curves", key: "c", component: Curves };

const SERIES = ["series-1", "series-2", "series-3", "series-4", "series-5", "series-6"];
const DASHES = [[], [6, 3], [2, 2], [8, 3, 2, 3], [4, 4], [1, 3]];

function Curves() {
  const { params, setParams, openTrial, problem, rows, table } = useStudy();
  const found = useColumns("curves");
  const { data } = found;
  const top = Number(params.best ?? 5);
  const byOrigin = params.color === "origin";
  const logs = { x: (params.log ?? "x").includes("x"), y: (params.log ?? "x").includes("y") };
  const all = useMemo(() => (data ? shownCurves(data, rows, table) : []), [data, rows]);
  const ranked = useMemo(() => rankedCurves(all, problem.maximize), [all]);
  const best = ranked.slice(0, top);
  const points = useMemo(() => curvePoints(data, ranked, top), [data, ranked, top]);
  const worst = problem.maximize ? "low" : "high";
  const values = useMemo(() => data && robustExtent(all.flatMap((one) => [...data.value.subarray(one.start, one.end)]), worst), [all]);
  const steps = useMemo(() => data && extent(all.flatMap((one) => [data.step[one.start], data.step[one.end - 1]])), [all]);
  const log = { x: logs.x && steps?.[0] > 0, y: logs.y && values?.[0] > 0 };
  const name = visible(problem.fidelity.name);
  const describe = (i) => `trial ${points.trial[i]}, ${name} ${number(points.x[i])}: ${number(points.y[i])}`;
  const paint = (plot, context) => {
    clipped(plot, context, () => {
      paintMany(plot, context, data, ranked.slice(top), byOrigin ? (one) => originColorName(one.origin) : () => "text-faint");
      best.toReversed().forEach((one, place) => {
        const i = best.length - 1 - place;
        line(plot, context, data.step.subarray(one.start, one.end), data.value.subarray(one.start, one.end), {
          stroke: color(byOrigin ? originColorName(one.origin) : SERIES[i % SERIES.length]), dash: DASHES[i % DASHES.length], width: 1.75,
        });
      });
      paintEnds(plot, context, data, best, (i, one) => (byOrigin ? originColorName(one.origin) : SERIES[i % SERIES.length]));
    });
    endLabels(plot, context, best.map((one, i) => ({
      y: data.value[one.end - 1], text: `${data.trial[one.end - 1]}`, fill: color(byOrigin ? originColorName(one.origin) : SERIES[i % SERIES.length]),
    })));
  };
  const drawn = all.reduce((sum, one) => sum + one.end - one.start, 0);
  const thinned = data && data.trial.length < data.points ? ` Thinned from ${whole(data.curves)} curves with ${whole(data.points)} points.` : "";
  const summary = all.length ? `${whole(all.length)} curves, ${whole(drawn)} points. Numbers at the right are trials, the best at the highest ${name} first.${thinned}` : "";
  return html`
    <div class="stack">
      <${Plot} title="Learning curves" summary=${summary} height=${Math.max(320, Math.min(560, globalThis.innerHeight - 280))} right=${46}
          empty=${unready(found) ?? (all.length ? null : "No curve passes the filter, or nothing was reported yet.")}
          x=${{ range: log.x ? roomy(steps, true, 0.01) : roomy(steps, false, 0.01), log: log.x, label: name, ticks: log.x ? rungTicks(problem, steps) : undefined }} y=${{ range: roomy(values, log.y), log: log.y }}
          points=${points} describe=${describe} open=${(i) => openTrial(points.trial[i])} paint=${paint} drawn=${[ranked, top, byOrigin]}
          rows=${() => ({ head: ["curve", "trial", name, "value"], rows: ranked.flatMap((one) => span(one).map((i) => [data.root[i], data.trial[i], data.step[i], data.value[i]])) })}
          tools=${html`
            <${Select} label="best" value=${String(top)} onChange=${(value) => setParams({ best: value === "5" ? null : value })} options=${["0", "3", "5", "10", "20"].map((one) => [one, one])} />
            <${Choice} label="Colour" value=${byOrigin ? "origin" : "rank"} options=${[["rank", "Best"], ["origin", "Origin"]]} onChange=${(value) => setParams({ color: value === "origin" ? value : null })} />
            <${Select} label="log" value=${params.log ?? "x"} onChange=${(value) => setParams({ log: value === "x" ? null : value })}
                       options=${[["none", "no axis"], ["x", name], ["y", "value"], ["xy", "both"]]} />`} />
    </div>`;
}

/** The rungs within a range, if there are some; else the usual ticks. */
function rungTicks(problem, steps) {
  const found = problem.fidelity.rungs.filter((one) => one >= steps[0] && one <= steps[1]);
  return found.length > 1 ? found : undefined;
}

/** The curves with a trial that passes the filter, as spans of the columns. */
function shownCurves(data, rows, table) {
  const passes = new Uint8Array(table.rows);
  for (const row of rows) passes[row] = 1;
  const origins = table.columns.get("origin");
  const found = [];
  for (let start = 0; start < data.root.length; ) {
    let end = start;
    let any = false;
    while (end < data.root.length && data.root[end] === data.root[start]) any = passes[data.trial[end++]] === 1 || any;
    if (any) found.push({ start, end, root: data.root[start], step: data.step[end - 1], value: data.value[end - 1], origin: origins.words[origins.data[data.root[start]]] ?? "" });
    start = end;
  }
  return found;
}

/** Those that went furthest first, the best of these first. */
function rankedCurves(all, maximize) {
  const sign = maximize ? -1 : 1;
  return all.toSorted((a, b) => b.step - a.step || sign * (a.value - b.value));
}

function span(one) {
  return Array.from({ length: one.end - one.start }, (_, i) => one.start + i);
}

/** What keys and pointer find: the points of the best curves, then the ends of all others. */
function curvePoints(data, ranked, top) {
  const at = [];
  ranked.forEach((one, place) => (place < Math.max(top, 1) ? at.push(...span(one)) : at.push(one.end - 1)));
  return { x: at.map((i) => data.step[i]), y: at.map((i) => data.value[i]), trial: at.map((i) => data.trial[i]) };
}

/** Many thin curves: one path for each colour and some hundred of them. */
function paintMany(plot, context, data, list, colorOf) {
  const [x, y] = toPixels(plot);
  const scale = ratio();
  context.save();
  context.lineWidth = scale;
  context.globalAlpha = Math.max(0.04, Math.min(0.5, 5 / Math.sqrt(list.length + 1)));
  const groups = Map.groupBy(list, colorOf);
  for (const [name, own] of groups) {
    context.strokeStyle = context.fillStyle = color(name);
    for (const one of own) {
      if (one.end - one.start === 1) {
        context.fillRect(x(data.step[one.start]) - scale, y(data.value[one.start]) - scale, 2 * scale, 2 * scale);
        continue;
      }
      context.beginPath();
      for (let i = one.start; i < one.end; i++) context.lineTo(x(data.step[i]), y(data.value[i]));
      context.stroke();
    }
  }
  context.restore();
}

function paintEnds(plot, context, data, best, colorOf) {
  const [x, y] = toPixels(plot);
  best.forEach((one, i) => {
    context.fillStyle = color(colorOf(i, one));
    context.beginPath();
    context.arc(x(data.step[one.end - 1]), y(data.value[one.end - 1]), 3 * ratio(), 0, 7);
    context.fill();
  });
}
