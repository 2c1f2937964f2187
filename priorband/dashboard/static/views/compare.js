// Comparison of studies: their best values over budget on one chart.

import { html, useEffect, useMemo, useState } from "../preact.js";
import { useSource, useStudy } from "../store.js";
import { color } from "../theme.js";
import { cut, duration, number, visible, whole } from "../format.js";
import { Choice, Toggle } from "../charts/choice.js";
import { Plot } from "../charts/plot.js";
import { clipped, endLabels, line } from "../charts/paint.js";
import { extent, robustExtent, roomy } from "../charts/ranges.js";

export const compare = { id: "compare", title: "Compare", key: "m", component: Compare, noFilter: true };

const SERIES = ["series-1", "series-2", "series-3", "series-4", "series-5", "series-6"];
const DASHES = [[], [6, 3], [2, 2], [8, 3, 2, 3]];
const MOST = 12;

function Compare() {
  const { id, params, setParams, problem, table } = useStudy();
  const source = useSource();
  const [studies, setStudies] = useState([]);
  const [result, setResult] = useState({ data: null, error: null });
  const others = (params.with ?? "").split(",").filter(Boolean).slice(0, MOST - 1);
  const chosen = [id, ...others.filter((one) => one !== id)];
  useEffect(() => {
    source.studies().then(setStudies, (error) => setResult({ data: null, error: error.message }));
  }, [source]);
  useEffect(() => {
    let current = true;
    source.compare(chosen).then(
      (data) => current && setResult({ data, error: null }),
      (error) => current && setResult({ data: null, error: error.message }),
    );
    return () => {
      current = false;
    };
  }, [source, chosen.join(), table.version]);
  const toggle = (other) => {
    const next = others.includes(other) ? others.filter((one) => one !== other) : [...others, other];
    setParams({ with: next.join(",") || null });
  };
  const same = studies.filter((one) => one.id !== id && (!one.overview || (one.overview.direction === "maximize") === problem.maximize));
  return html`
    <div class="stack">
      <${Curves} result=${result} maximize=${problem.maximize} />
      ${studies.length > 1 && html`
        <fieldset class="chooser"><legend>Compare with</legend>
          ${same.map((one) => html`
            <label><input type="checkbox" checked=${others.includes(one.id)} disabled=${!others.includes(one.id) && chosen.length >= MOST}
                          onChange=${() => toggle(one.id)} /> <bdi title=${visible(one.where)}>${cut(visible(one.name), 60)}</bdi></label>`)}
        </fieldset>`}
      ${studies.length === 1 && html`<p class="soft">There is no other study here. Give several: priorband dashboard runs/*</p>`}
      <${Totals} studies=${chosen.map((own) => studies.find((one) => one.id === own)).filter((one) => one?.overview)} />
    </div>`;
}

function Curves({ result, maximize }) {
  const { params, setParams } = useStudy();
  const { data } = result;
  const any = params.best === "any";
  const logged = params.log === "y";
  const lines = data ? (any ? data.any_fidelity : data.full) : [];
  const points = useMemo(() => changePoints(data, lines), [data, any]);
  const spread = robustExtent(lines.flat().filter((one) => one !== null), maximize ? "low" : "high");
  const log = logged && spread !== null && spread[0] > 0;
  const names = data ? data.names.map((name) => cut(visible(name), 22)) : [];
  const styles = lines.map((_, i) => ({ stroke: SERIES[i % SERIES.length], dash: DASHES[Math.floor(i / SERIES.length) % DASHES.length] }));
  const ends = lines.map((own, i) => [i, own.findLast((one) => one !== null)]).filter(([, value]) => value !== undefined);
  const winner = ends.length ? ends.reduce((a, b) => ((maximize ? b[1] > a[1] : b[1] < a[1]) ? b : a)) : null;
  const describe = (i) => `${names[points.study[i]]}: ${number(points.y[i])} after ${number(points.x[i], 3)} trainings`;
  const paint = (plot, context) => {
    clipped(plot, context, () => lines.forEach((own, i) => line(plot, context, data.spent, own, { stroke: color(styles[i].stroke), dash: styles[i].dash, stepped: true, width: 1.75 })));
    endLabels(plot, context, ends.map(([i, value]) => ({ y: value, text: names[i], fill: color(styles[i].stroke) })));
  };
  return html`
    <${Plot} title="Best value of each study" height=${320} right=${Math.min(160, 20 + 6.4 * Math.max(...names.map((one) => one.length), 8))}
        summary=${winner && lines.length > 1 ? `${names[winner[0]]} has the best value so far, ${number(winner[1])}. Budgets are in full trainings of each study.` : "Budget in full trainings of each study."}
        empty=${result.error ?? (data === null ? "Computing…" : ends.length ? null : `No study has a full training yet.${any ? "" : " Choose any fidelity."}`)}
        x=${{ range: [0, extent(data?.spent ?? [])?.[1] || 1], label: "budget, in full trainings" }} y=${{ range: roomy(spread, log), log }}
        points=${points} describe=${describe} paint=${paint} drawn=${[data, any]}
        rows=${() => ({ head: ["trainings", ...names], rows: data.spent.map((spent, i) => [spent, ...lines.map((own) => own[i])]) })}
        tools=${html`
          <${Toggle} label="log" on=${logged} onChange=${(on) => setParams({ log: on ? "y" : null })} />
          <${Choice} label="Best" value=${any ? "any" : "full"} options=${[["full", "In full"], ["any", "Any fidelity"]]} onChange=${(value) => setParams({ best: value === "any" ? value : null })} />`} />`;
}

/** Where the best of a study changes. */
function changePoints(data, lines) {
  const found = { x: [], y: [], study: [] };
  lines.forEach((own, study) => own.forEach((value, i) => {
    if (value === null || (i > 0 && own[i - 1] === value)) return;
    found.x.push(data.spent[i]);
    found.y.push(value);
    found.study.push(study);
  }));
  return found;
}

function Totals({ studies }) {
  if (studies.length === 0) return null;
  return html`
    <div class="scroll-x" tabindex="0" role="region" aria-label="Totals of the studies">
      <table class="list plain">
        <thead><tr><th scope="col">Study</th><th scope="col" class="number">Best in full</th><th scope="col" class="number">Trainings</th>
          <th scope="col" class="number">Trials</th><th scope="col" class="number">Failed</th><th scope="col" class="number">Seconds</th></tr></thead>
        <tbody>${studies.map(({ name, overview }) => html`
          <tr><th scope="row"><bdi>${cut(visible(name), 60)}</bdi></th><td class="number">${number(overview.best_in_full?.value)}</td>
            <td class="number">${number(overview.budget.trainings?.used, 3)}</td><td class="number">${whole(overview.trials.ended)}</td>
            <td class="number">${overview.trials.failed || "–"}</td><td class="number">${duration(overview.budget.seconds?.used)}</td></tr>`)}</tbody>
      </table>
    </div>`;
}
